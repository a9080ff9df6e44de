//! The error body of the REST API.

use serde::{Deserialize, Serialize};

/// The body of every REST error. Clients read `message`; some require an absolute `url`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// The error message.
    #[serde(default)]
    pub message: String,
    /// URL of the API documentation.
    #[serde(default)]
    pub url: String,
    /// Error code for programs, for example `repo_exists`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The input field that caused the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Id of the request in the daemon's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}
