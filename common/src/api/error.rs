//! The one error body of the REST API.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What every REST error answers. Clients read `message`; some need `url` to be absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// A sentence for people.
    #[serde(default)]
    pub message: String,
    /// Where the API is described.
    #[serde(default)]
    pub url: String,
    /// A word for programs, such as `repo_exists`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The input field that the error is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Finds the request in the daemon's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}
