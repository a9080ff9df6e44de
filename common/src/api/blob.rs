//! Blobs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A blob with its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Blob {
    /// In base64; empty for a blob that is too large to be shown this way.
    pub content: String,
    /// Always `base64`.
    pub encoding: String,
    /// Absolute address of this object.
    pub url: String,
    /// Object id.
    pub sha: String,
    /// Bytes.
    pub size: i64,
}
