//! Blobs.

use serde::{Deserialize, Serialize};

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
