//! Jobs: CI agents start, renew and end them.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::header;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, SignedIn},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        show,
    },
    service::{Error, ci},
    shares::RequestMemory,
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

/// Returns what the steps of a job wrote as its summary, in the order of the steps.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetJobSummary", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = String, content_type = "text/markdown")),
)]
pub(in crate::http) async fn summary(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    Path(id): Path<String>,
    memory: Option<Extension<Arc<RequestMemory>>>,
) -> Result<Response, ApiError> {
    let id = id.parse().map_err(|_| Error::NotFound { what: "the job" })?;
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = ci::summary(&snapshot, &caller.identity, id).await?;
    if let Some(memory) = memory {
        let needed = usize::try_from(found.size()).unwrap_or(usize::MAX).saturating_mul(2);
        memory.grow(needed).map_err(Error::from)?;
    }
    let texts = found.texts(&snapshot).await?;
    let mut text = Vec::new();
    for part in texts.iter().flat_map(|parts| parts.iter().map(AsRef::as_ref).chain([b"\n".as_slice()])) {
        text.extend_from_slice(part);
    }
    let headers = [
        (header::CONTENT_TYPE, "text/markdown; charset=utf-8"),
        // A browser must not run scripts of a job with the origin of this host.
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ];
    Ok((headers, text).into_response())
}
