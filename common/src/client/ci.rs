//! Requests of CI agents for jobs.

use super::{Client, ClientError, answer};
use crate::api::{BeginRun, BegunJob, Conclusion, EndJob, JobLease};

impl Client {
    /// Starts a job in a new or a running run.
    pub async fn begin_job(&self, request: &BeginRun) -> Result<BegunJob, ClientError> {
        self.post("/api/farrier/v1/jobs", request).await
    }

    /// Renews the lease of a job.
    pub async fn renew_job(&self, job: i64) -> Result<JobLease, ClientError> {
        self.post(&format!("/api/farrier/v1/jobs/{job}/renew"), &serde_json::json!({})).await
    }

    /// Ends a job and invalidates its token.
    pub async fn end_job(&self, job: i64, conclusion: Conclusion) -> Result<(), ClientError> {
        let answer = self.post_any(&format!("/api/farrier/v1/jobs/{job}/end"), &EndJob { conclusion }).await?;
        answer::drain(answer).await
    }
}
