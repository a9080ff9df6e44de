//! Runs and jobs that a CI agent starts and ends (farrier's own API).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// `POST /api/farrier/v1/jobs`: starts a job in a new or a running run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct BeginRun {
    /// Required: `owner/name`.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, pattern = "^[^/]+/[^/]+$"))]
    pub repo: String,
    /// A running run of the repository to which the job is added; absent for a new run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<i64>,
    /// Name of the job; empty for `job`.
    #[serde(deserialize_with = "null_as_default")]
    pub job: String,
    /// Commit of the run.
    #[serde(deserialize_with = "null_as_default")]
    pub sha: String,
    /// Branch of the run.
    #[serde(deserialize_with = "null_as_default")]
    pub branch: String,
    /// Name of the workflow.
    #[serde(deserialize_with = "null_as_default")]
    pub workflow: String,
    /// Length of the lease, 10 to 3600 seconds. The job is cancelled if the lease ends and is not renewed
    /// within the same time again. Absent: the job may run for `ci.job_timeout_secs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 10, maximum = 3600))]
    pub lease_secs: Option<u32>,
}

/// A started job.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BegunJob {
    /// The run.
    pub run_id: i64,
    /// The job.
    pub job_id: i64,
    /// The job's runtime token. It is valid until the job ends.
    pub token: String,
    /// Environment variables for the official Actions clients.
    pub env: BTreeMap<String, String>,
}

impl std::fmt::Debug for BegunJob {
    /// Omits the token and the environment, which contains the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BegunJob").field("run_id", &self.run_id).field("job_id", &self.job_id).finish_non_exhaustive()
    }
}

/// Response of `POST /api/farrier/v1/jobs/{id}/renew`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct JobLease {
    /// The job.
    pub job_id: i64,
    /// When the lease ends; for a job without a lease, its time limit.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub expires_at: String,
}

/// `POST /api/farrier/v1/jobs/{id}/end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EndJob {
    /// The result of the job.
    pub conclusion: Conclusion,
}

/// The result of a job or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// It succeeded.
    Success,
    /// It failed.
    Failure,
    /// It was cancelled or exceeded its time limit.
    Cancelled,
    /// There was nothing to do.
    Skipped,
}

impl Conclusion {
    /// Returns the JSON value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }
}

impl std::str::FromStr for Conclusion {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let all = [Self::Success, Self::Failure, Self::Cancelled, Self::Skipped];
        all.into_iter()
            .find(|c| c.as_str() == word)
            .ok_or_else(|| format!("{word:?} is no conclusion: one of success, failure, cancelled, skipped"))
    }
}
