//! Trees.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Tree {
    /// Object id of the tree.
    pub sha: String,
    /// Absolute address of this object.
    pub url: String,
    /// Its entries.
    pub tree: Vec<TreeEntry>,
    /// Whether there are more pages.
    pub truncated: bool,
    /// This page, from 1.
    pub page: i64,
    /// Entries on all pages.
    pub total_count: i64,
}

/// An entry of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TreeEntry {
    /// Path below the tree.
    pub path: String,
    /// Six octal digits.
    pub mode: String,
    /// `blob`, `tree` or `commit` (a submodule).
    #[serde(rename = "type")]
    pub kind: String,
    /// Bytes of a blob, else 0.
    pub size: i64,
    /// Object id.
    pub sha: String,
    /// Absolute address of the object; empty for a submodule, whose object is elsewhere.
    pub url: String,
}
