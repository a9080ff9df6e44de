//! Authentication of jobs by their runtime token.

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::bearer;
use crate::{
    http::{AppState, access_log::CallerName, auth, error::ApiError},
    service::{
        Error,
        audit::RequestScope,
        authentication::{self, JobIdentity},
    },
    shares::Holder,
};

/// Authenticates a request with the runtime token of a job in progress. The memory of the request counts to the jobs of
/// the repository.
pub(in crate::http) async fn authenticate_job(state: &AppState, parts: &Parts) -> Result<JobIdentity, Error> {
    let token = bearer(&parts.headers);
    let token = token.ok_or_else(|| Error::Unauthenticated { reason: "a runtime token is required".into() })?;
    let job = authentication::job(state, token).await?;
    if let Some(caller) = parts.extensions.get::<CallerName>() {
        caller.set(format!("job {}", job.job_id));
    }
    auth::count_memory_to(&parts.extensions, Holder::Jobs(job.repository_id));
    if let Some(scope) = RequestScope::current() {
        scope.set_job(job.job_id);
    }
    Ok(job)
}

/// Extracts the job in progress whose runtime token the request has.
pub(in crate::http) struct RunningJob(pub(in crate::http) JobIdentity);

impl FromRequestParts<AppState> for RunningJob {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        Ok(Self(authenticate_job(state, parts).await?))
    }
}

impl RunningJob {
    /// Checks that `run` is the run of the job. The error is the same whether `run` exists or not.
    pub(in crate::http) fn require_run(&self, run: &str) -> Result<(), Error> {
        if run == self.0.run_id.to_string() {
            return Ok(());
        }
        Err(Error::Forbidden { reason: "the runtime token is for another workflow run".into() })
    }

    /// Checks that `job` is the job of the token. The error is the same whether `job` exists or not.
    pub(in crate::http) fn require_job(&self, job: &str) -> Result<(), Error> {
        if job == self.0.job_id.to_string() {
            return Ok(());
        }
        Err(Error::Forbidden { reason: "the runtime token is for another job".into() })
    }
}
