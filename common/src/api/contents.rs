//! Files and directories by path.

use serde::{Deserialize, Serialize};

/// A file, directory, symbolic link or submodule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Contents {
    /// Last segment of the path.
    pub name: String,
    /// Path in the repository.
    pub path: String,
    /// Object id.
    pub sha: String,
    /// The last commit that changed it.
    pub last_commit_sha: String,
    /// When that commit was committed, in UTC.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_committer_date: String,
    /// When that commit was written, with the author's UTC offset.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_author_date: String,
    /// `file`, `dir`, `symlink` or `submodule`.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(file|dir|symlink|submodule)$"))]
    pub kind: String,
    /// Size, bytes.
    pub size: i64,
    /// `base64`; only for a single file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Content in base64; only for a single file. Empty if the file is too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// SHA-256 of the content, if the file is a pointer file of Git LFS. Only for a single file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lfs_oid: Option<String>,
    /// Size of that content, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lfs_size: Option<i64>,
    /// Target of a symbolic link; otherwise, and in lists, `null`.
    pub target: Option<String>,
    /// Absolute URL of this object.
    pub url: String,
    /// Absolute URL of the web page; `null` for a submodule.
    pub html_url: Option<String>,
    /// Absolute URL of the git object; `null` for a submodule.
    pub git_url: Option<String>,
    /// Absolute URL of the content; `null` if there is none.
    pub download_url: Option<String>,
    /// URL of a submodule's repository; otherwise `null`.
    pub submodule_git_url: Option<String>,
    /// The same URLs in one object.
    #[serde(rename = "_links")]
    pub links: ContentsLinks,
}

/// URLs of a file or directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ContentsLinks {
    /// This object.
    #[serde(rename = "self")]
    pub own: String,
    /// The git object; `null` for a submodule.
    pub git: Option<String>,
    /// The web page; `null` for a submodule.
    pub html: Option<String>,
}
