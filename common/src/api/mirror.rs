//! Push mirrors of a repository, and mirrors of all repositories.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// A repository on another server to which all branches and tags are pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct PushMirror {
    /// Name of the repository that is pushed.
    pub repo_name: String,
    /// Name of the push mirror, which the daemon chooses.
    pub remote_name: String,
    /// URL without credentials.
    pub remote_address: String,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created: String,
    /// When the last run ended; 1970 before the first.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_update: String,
    /// Why the last run failed; empty if it succeeded.
    pub last_error: String,
    /// Time between two runs, such as `8h0m0s`; `0s` if there is none.
    pub interval: String,
    /// Whether it also runs after each push.
    pub sync_on_commit: bool,
    /// Always empty: keys are not supported.
    pub public_key: String,
    /// Always empty: filters are not supported.
    pub branch_filter: String,
}

/// `GET /api/farrier/v1/mirrors`: a mirror with its repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct FoundMirror {
    /// The repository, `owner/name`.
    pub repository: String,
    /// ID of the repository.
    pub repository_id: i64,
    /// `pull`: the repository follows the address; `push`: it is pushed to the address.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(pull|push)$"))]
    pub kind: String,
    /// Name of a push mirror; empty for a pull mirror.
    pub name: String,
    /// URL without credentials.
    pub address: String,
    /// `ok`, `failing`, or `unused` before the first run.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(ok|failing|unused)$"))]
    pub state: String,
    /// Why the last run failed; empty if it succeeded.
    pub error: String,
    /// Number of failed runs since the last success.
    pub failures: i64,
    /// When the runs started to fail; absent if the last one succeeded, or if an earlier release recorded the failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub failing_since: Option<String>,
    /// When the last run ended; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated_at: Option<String>,
    /// When the next run is due; absent if none is planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub next_at: Option<String>,
}

/// `POST /repos/{owner}/{repo}/push_mirrors`. `null` is the same as absent.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreatePushMirror {
    /// Required: URL of a repository, with http or https.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, pattern = "^https?://.+$"))]
    pub remote_address: String,
    /// User name at the other server.
    #[serde(deserialize_with = "null_as_default")]
    pub remote_username: String,
    /// Password or token at the other server.
    #[serde(deserialize_with = "null_as_default")]
    pub remote_password: String,
    /// Time between two runs, such as `8h0m0s`. `0s`: only by request and after pushes. Empty:
    /// `mirror.default_interval_secs`.
    #[serde(deserialize_with = "null_as_default")]
    pub interval: String,
    /// Also run after each push.
    #[serde(deserialize_with = "null_as_default")]
    pub sync_on_commit: bool,
    /// Must be empty.
    #[serde(deserialize_with = "null_as_default")]
    pub branch_filter: String,
    /// Must be false.
    #[serde(deserialize_with = "null_as_default")]
    pub use_ssh: bool,
}

/// Omits the credentials, so that they are not logged.
impl std::fmt::Debug for CreatePushMirror {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatePushMirror").field("interval", &self.interval).finish_non_exhaustive()
    }
}
