//! Tags, as names and as objects.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{CommitMeta, GitObject, Signature, Verification, null_as_default};

/// A tag by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Tag {
    /// Name without `refs/tags/`.
    pub name: String,
    /// Message of an annotated tag, or of the commit.
    pub message: String,
    /// Id of the tag object, or of the commit when there is none.
    pub id: String,
    /// The commit.
    pub commit: CommitMeta,
    /// Absolute address of the tree as a zip file.
    pub zipball_url: String,
    /// Absolute address of the tree as a compressed tar file.
    pub tarball_url: String,
    /// Downloads are not counted.
    pub archive_download_count: ArchiveDownloads,
}

/// How often archives of a tag were fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ArchiveDownloads {
    /// Always 0.
    pub zip: i64,
    /// Always 0.
    pub tar_gz: i64,
}

/// A tag object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AnnotatedTag {
    /// Name without `refs/tags/`.
    pub tag: String,
    /// Object id.
    pub sha: String,
    /// Absolute address of this object.
    pub url: String,
    /// The whole message.
    pub message: String,
    /// Who made it.
    pub tagger: Signature,
    /// What it points at.
    pub object: GitObject,
    /// Its signature.
    pub verification: Verification,
    /// Downloads are not counted.
    pub archive_download_count: ArchiveDownloads,
}

/// `POST /repos/{owner}/{repo}/tags`. `null` is the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CreateTag {
    /// Required.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, min_length = 1)]
    pub tag_name: String,
    /// Not empty: makes an annotated tag.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
    /// Branch, tag or commit; empty: the default branch.
    #[serde(deserialize_with = "null_as_default")]
    pub target: String,
}
