//! Releases of a repository.

use serde::{Deserialize, Serialize};

use super::{User, null_as_default};

/// A release: a tag with a title, a text and attached files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Release {
    /// Number of the release.
    pub id: i64,
    /// Name of the tag.
    pub tag_name: String,
    /// The branch or commit at which the tag is created if it does not exist.
    pub target_commitish: String,
    /// The title.
    pub name: String,
    /// The text.
    pub body: String,
    /// Absolute URL of this object.
    pub url: String,
    /// Absolute URL of the page for browsers.
    pub html_url: String,
    /// Absolute URL of the archive of the tag.
    pub tarball_url: String,
    /// Absolute URL of the archive of the tag.
    pub zipball_url: String,
    /// Absolute URL to which files are uploaded.
    pub upload_url: String,
    /// Whether only callers with write access see it.
    pub draft: bool,
    /// Whether it is not ready for production.
    pub prerelease: bool,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When it was published; for a draft, when it was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub published_at: String,
    /// The account that created it; absent if the account was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<User>,
    /// The attached files, by number.
    pub assets: Vec<Attachment>,
}

/// A file that is attached to a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Attachment {
    /// Number of the file.
    pub id: i64,
    /// Name of the file.
    pub name: String,
    /// Size, bytes.
    pub size: i64,
    /// Number of downloads; downloads within one second count once.
    pub download_count: i64,
    /// When it was uploaded.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// Identifier of the file.
    pub uuid: String,
    /// Absolute URL of the bytes.
    pub browser_download_url: String,
    /// `sha256:` followed by hexadecimal digits (farrier extension).
    pub digest: String,
}

/// `POST /repos/{owner}/{repo}/releases`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateRelease {
    /// Name of the tag. It is created if it does not exist and the release is no draft.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub tag_name: String,
    /// Branch, tag or commit at which the tag is created; empty for the default branch.
    #[serde(deserialize_with = "null_as_default")]
    pub target_commitish: String,
    /// The title, at most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub name: String,
    /// The text.
    #[serde(deserialize_with = "null_as_default")]
    pub body: String,
    /// Whether only callers with write access see the release.
    #[serde(deserialize_with = "null_as_default")]
    pub draft: bool,
    /// Whether it is not ready for production.
    #[serde(deserialize_with = "null_as_default")]
    pub prerelease: bool,
    /// If the tag is created, now or on publication of a draft: its message; without one, the tag is not annotated.
    #[serde(deserialize_with = "null_as_default")]
    pub tag_message: String,
}

/// `PATCH /repos/{owner}/{repo}/releases/{id}`. Absent fields, `null` and empty texts change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct EditRelease {
    /// Another tag. It is created if it does not exist and the release is no draft; the former tag stays.
    #[serde(deserialize_with = "null_as_default")]
    pub tag_name: String,
    /// Branch, tag or commit at which the tag is created.
    #[serde(deserialize_with = "null_as_default")]
    pub target_commitish: String,
    /// The title, at most 255 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub name: String,
    /// The text.
    #[serde(deserialize_with = "null_as_default")]
    pub body: String,
    /// Whether only callers with write access see the release.
    pub draft: Option<bool>,
    /// Whether it is not ready for production.
    pub prerelease: Option<bool>,
    /// If a tag is created, now or on publication of a draft: its message.
    #[serde(deserialize_with = "null_as_default")]
    pub tag_message: String,
}

/// `PATCH /repos/{owner}/{repo}/releases/{id}/assets/{asset}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct EditAttachment {
    /// The new name, at most 255 bytes; empty to keep it.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub name: String,
}
