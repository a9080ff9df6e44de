//! Subscriptions to repositories.

use serde::{Deserialize, Serialize};

/// The caller's subscription to a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct WatchInfo {
    /// Always true.
    pub subscribed: bool,
    /// Always false.
    pub ignored: bool,
    /// Always `null`.
    pub reason: Option<String>,
    /// Since when.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// Absolute URL of this object.
    pub url: String,
    /// Absolute URL of the repository.
    pub repository_url: String,
}
