//! Tags and tag objects.

use serde::{Deserialize, Serialize};

use super::{CommitMeta, GitObject, Signature, Verification, null_as_default};

/// A tag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Tag {
    /// Name without `refs/tags/`.
    pub name: String,
    /// Message of the annotated tag, or of the commit.
    pub message: String,
    /// Id of the tag object; for a lightweight tag, of the commit.
    pub id: String,
    /// The commit.
    pub commit: CommitMeta,
    /// Absolute URL of the tree as a zip file.
    pub zipball_url: String,
    /// Absolute URL of the tree as a compressed tar file.
    pub tarball_url: String,
    /// Download counts. Downloads are not counted.
    pub archive_download_count: ArchiveDownloads,
}

/// Download counts of a tag's archives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ArchiveDownloads {
    /// Always 0.
    pub zip: i64,
    /// Always 0.
    pub tar_gz: i64,
}

/// An annotated tag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct AnnotatedTag {
    /// Name without `refs/tags/`.
    pub tag: String,
    /// Object id.
    pub sha: String,
    /// Absolute URL of this object.
    pub url: String,
    /// The full message.
    pub message: String,
    /// The tagger.
    pub tagger: Signature,
    /// The tagged object.
    pub object: GitObject,
    /// The signature.
    pub verification: Verification,
    /// Download counts. Downloads are not counted.
    pub archive_download_count: ArchiveDownloads,
}

/// `POST /repos/{owner}/{repo}/tags`. `null` is the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateTag {
    /// Required: name of the tag.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub tag_name: String,
    /// Message of an annotated tag; empty for a lightweight tag.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
    /// Branch, tag or commit; empty for the default branch.
    #[serde(deserialize_with = "null_as_default")]
    pub target: String,
}
