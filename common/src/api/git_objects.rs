//! Git trees, blobs and refs, as the routes below `git/` return them.

use serde::{Deserialize, Serialize};

/// A page of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Tree {
    /// Object id of the tree.
    pub sha: String,
    /// Absolute URL of this object.
    pub url: String,
    /// The entries.
    pub tree: Vec<TreeEntry>,
    /// Whether there are more pages.
    pub truncated: bool,
    /// Number of this page, from 1.
    pub page: i64,
    /// Number of entries on all pages.
    pub total_count: i64,
}

/// An entry of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TreeEntry {
    /// Path relative to the tree.
    pub path: String,
    /// File mode, six octal digits.
    pub mode: String,
    /// `blob`, `tree` or `commit` (a submodule).
    #[serde(rename = "type")]
    pub kind: String,
    /// Size of a blob, bytes; otherwise 0.
    pub size: i64,
    /// Object id.
    pub sha: String,
    /// Absolute URL of the object; empty for a submodule, whose commit is in another repository.
    pub url: String,
}

/// A blob with its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Blob {
    /// Content in base64; empty if the blob is too large.
    pub content: String,
    /// Always `base64`.
    pub encoding: String,
    /// Absolute URL of this object.
    pub url: String,
    /// Object id.
    pub sha: String,
    /// Size, bytes.
    pub size: i64,
}

/// A ref.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct GitReference {
    /// Full name, for example `refs/heads/main`.
    #[serde(rename = "ref")]
    pub name: String,
    /// Absolute URL of this object.
    pub url: String,
    /// The object that it points to.
    pub object: GitObject,
}

/// The object that a ref or tag points to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct GitObject {
    /// `commit`, `tag`, `tree` or `blob`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Object id.
    pub sha: String,
    /// Absolute URL of the object.
    pub url: String,
}
