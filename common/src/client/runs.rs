//! Requests for workflow runs, and the requests with which CI agents begin, renew and end jobs.

use super::{Client, ClientError, Pages, RepositoryPath, answer, path::segment};
use crate::api::{BeginRun, BegunJob, Conclusion, EndJob, FailingWorkflows, FoundRun, JobLease};

/// Which runs to list; an empty or absent field does not restrict the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only this repository.
    pub repository: Option<RepositoryPath>,
    /// `in_progress` or `completed`.
    pub status: String,
    /// `success`, `failure`, `cancelled` or `skipped`.
    pub conclusion: String,
    /// Words, each of which must be a part of the texts of a run.
    pub text: String,
}

impl Client {
    /// Lists the runs that the caller may read with their jobs, newest first.
    pub fn found_runs(&self, filter: &RunFilter) -> Pages<'_> {
        let repository = filter.repository.as_ref().map(RepositoryPath::to_string).unwrap_or_default();
        let RunFilter { status, conclusion, text, .. } = filter;
        let pairs = [("repository", &repository), ("status", status), ("conclusion", conclusion), ("q", text)];
        let given = pairs.iter().filter(|(_, value)| !value.is_empty());
        let query: Vec<String> = given.map(|(name, value)| format!("{name}={}", segment(value))).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        Pages::new(self, format!("/api/farrier/v1/runs{mark}{}", query.join("&")))
    }

    /// Lists the workflows whose last runs failed.
    pub async fn failing_workflows(&self) -> Result<FailingWorkflows, ClientError> {
        self.get("/api/farrier/v1/runs/failing").await
    }

    /// Lists the runs of all repositories that the caller may read, or of one, with their jobs, newest first.
    pub fn all_runs(&self, repository: Option<&RepositoryPath>) -> Pages<'_> {
        let filter = repository.map_or_else(String::new, |path| format!("?repository={}", segment(&path.to_string())));
        Pages::new(self, format!("/api/farrier/v1/runs{filter}"))
    }

    /// Returns a run of any repository with its jobs.
    pub async fn run(&self, id: i64) -> Result<FoundRun, ClientError> {
        self.get(&format!("/api/farrier/v1/runs/{id}")).await
    }

    /// Cancels the running jobs of a run and returns the run.
    pub async fn cancel_run(&self, id: i64) -> Result<FoundRun, ClientError> {
        self.post(&format!("/api/farrier/v1/runs/{id}/cancel"), &serde_json::json!({})).await
    }

    /// Lists the runs of a repository, newest first.
    pub fn runs(&self, repo: &RepositoryPath) -> Pages<'_> {
        Pages::new(self, format!("{}/actions/runs", repo.api()))
    }

    /// Lists the jobs of a run, oldest first.
    pub fn run_jobs(&self, repo: &RepositoryPath, run: i64) -> Pages<'_> {
        Pages::new(self, format!("{}/actions/runs/{run}/jobs", repo.api()))
    }

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
