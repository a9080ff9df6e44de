//! Jobs: CI agents start, renew and end them.

use axum::extract::{Path, State};
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        show,
    },
    service::{Error, ci},
    store::{owners, repositories, runs},
};

/// Starts a job, in a new run or in a run that is in progress.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierBeginJob", tag = "farrier",
    request_body = api::BeginRun,
    responses(
        (status = 201, body = api::BegunJob),
        (status = 412, description = "The run has completed, or has the maximum number of jobs."),
    ),
)]
pub(in crate::http) async fn begin(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    JsonBody(input): JsonBody<api::BeginRun>,
) -> Result<JsonResponse<api::BegunJob>, ApiError> {
    let started = ci::begin(&state, &caller.identity, input).await?;
    Ok(created(api::BegunJob {
        run_id: show::number(started.job.run_id),
        job_id: show::number(started.job.id),
        token: started.token,
        env: started.env,
    }))
}

/// Renews the lease of a job. Agents that began a job with `lease_secs` call this several times per lease.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierRenewJob", tag = "farrier",
    responses((status = 200, body = api::JobLease), (status = 409, description = "The job has already ended.")),
)]
pub(in crate::http) async fn renew(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::JobLease>, ApiError> {
    let id = id.parse().map_err(|_| Error::NotFound { what: "the job" })?;
    let job = ci::renew(&state, &caller.identity, id).await?;
    Ok(ok(api::JobLease { job_id: show::number(job.id), expires_at: show::time(job.deadline_ms) }))
}

/// Ends a job. Repeating the request with the same conclusion changes nothing.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierEndJob", tag = "farrier",
    request_body = api::EndJob,
    responses((status = 200, body = api::Job), (status = 409, description = "The job ended with another conclusion.")),
)]
pub(in crate::http) async fn end(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path(id): Path<String>,
    JsonBody(input): JsonBody<api::EndJob>,
) -> Result<JsonResponse<api::Job>, ApiError> {
    let id = id.parse().map_err(|_| Error::NotFound { what: "the job" })?;
    let job = ci::end(&state, &caller.identity, id, input.conclusion).await?;
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let run = runs::run(&snapshot, job.run_id).await.map_err(Error::from)?.unwrap_or_default();
    let repository = repositories::get(&snapshot, job.repository_id).await.map_err(Error::from)?.unwrap_or_default();
    let owner = owners::owner(&snapshot, repository.owner_kind(), repository.owner_id).await.map_err(Error::from)?;
    let owner = owner.as_ref().map_or("", |owner| owner.name());
    Ok(ok(show::job(&state.root_url, &format!("{owner}/{}", repository.name), &run, &job)))
}
