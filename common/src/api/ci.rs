//! Runs and jobs begun and ended by a CI agent: farrier's own API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::null_as_default;

/// `POST /api/farrier/v1/jobs`: begins a job, in a new run or in a live one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct BeginRun {
    /// Required: `owner/name`.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(required = true, pattern = "^[^/]+/[^/]+$")]
    pub repo: String,
    /// A live run of that repository to add the job to; absent: a new run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<i64>,
    /// Name of the job; empty: `job`.
    #[serde(deserialize_with = "null_as_default")]
    pub job: String,
    /// Commit that the run is about.
    #[serde(deserialize_with = "null_as_default")]
    pub sha: String,
    /// Branch that the run is about.
    #[serde(deserialize_with = "null_as_default")]
    pub branch: String,
    /// Name of the workflow.
    #[serde(deserialize_with = "null_as_default")]
    pub workflow: String,
    /// Seconds from 10 to 3600: the job is cancelled when its lease ends and is not renewed for as long
    /// again. Absent: the job may run for `ci.job_timeout_secs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 10, maximum = 3600)]
    pub lease_secs: Option<u32>,
}

/// A job that has begun.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BegunJob {
    /// The run.
    pub run_id: i64,
    /// The job.
    pub job_id: i64,
    /// The job's runtime token; it dies with the job.
    pub token: String,
    /// What the official Actions clients read from their environment.
    pub env: BTreeMap<String, String>,
}

impl std::fmt::Debug for BegunJob {
    /// Leaves the token out: also the environment holds it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BegunJob").field("run_id", &self.run_id).field("job_id", &self.job_id).finish_non_exhaustive()
    }
}

/// Answer to `POST /api/farrier/v1/jobs/{id}/renew`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct JobLease {
    /// The job.
    pub job_id: i64,
    /// When the lease ends, or the time limit of a job without a lease.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

/// `POST /api/farrier/v1/jobs/{id}/end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndJob {
    /// How the job ended.
    pub conclusion: Conclusion,
}

/// How a job or a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// All went well.
    Success,
    /// Something failed.
    Failure,
    /// Stopped from outside, or not ended in time.
    Cancelled,
    /// Nothing was to be done.
    Skipped,
}

impl Conclusion {
    /// The word on the wire.
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
