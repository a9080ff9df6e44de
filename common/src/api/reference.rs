//! References of any kind.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A reference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct GitReference {
    /// Whole name, such as `refs/heads/main`.
    #[serde(rename = "ref")]
    pub name: String,
    /// Absolute address of this object.
    pub url: String,
    /// What it points at.
    pub object: GitObject,
}

/// What a reference or a tag points at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct GitObject {
    /// `commit`, `tag`, `tree` or `blob`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Object id.
    pub sha: String,
    /// Absolute address of the object.
    pub url: String,
}
