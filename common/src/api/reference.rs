//! Git refs of any kind.

use serde::{Deserialize, Serialize};

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
