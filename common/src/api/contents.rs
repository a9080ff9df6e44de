//! Files and directories by their path.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A file, directory, symbolic link or submodule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Contents {
    /// Last part of the path.
    pub name: String,
    /// The path.
    pub path: String,
    /// Object id.
    pub sha: String,
    /// The last commit that touched it.
    pub last_commit_sha: String,
    /// `file`, `dir`, `symlink` or `submodule`.
    #[serde(rename = "type")]
    #[schema(pattern = "^(file|dir|symlink|submodule)$")]
    pub kind: String,
    /// Bytes.
    pub size: i64,
    /// `base64`, of a single file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Of a single file: its bytes in base64; empty when it is too large to be shown this way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Where a symbolic link points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Absolute address of this object.
    pub url: String,
    /// Absolute address for people; `null` for a submodule.
    pub html_url: Option<String>,
    /// Absolute address of the git object; `null` for a submodule.
    pub git_url: Option<String>,
    /// Absolute address of the bytes; `null` for what has none.
    pub download_url: Option<String>,
    /// Where a submodule comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submodule_git_url: Option<String>,
    /// The same addresses again.
    #[serde(rename = "_links")]
    pub links: ContentsLinks,
}

/// Addresses of a file or directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ContentsLinks {
    /// This object.
    #[serde(rename = "self")]
    pub own: String,
    /// The git object; `null` for a submodule.
    pub git: Option<String>,
    /// For people; `null` for a submodule.
    pub html: Option<String>,
}
