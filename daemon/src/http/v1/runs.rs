//! Runs and jobs of a repository.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse, Response},
};
use farrier_common::api;
use farrier_proto::store::Run;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::ActionsPageParams,
        page::PageQuery,
        show,
    },
    service::{
        Error,
        access::Action,
        ci,
        repositories::{self, FoundRepository},
    },
    store::{Snapshot, runs},
};

/// A repository whose Actions data the caller may read, and the snapshot in which that was checked.
struct ActionsContext {
    snapshot: Snapshot,
    found: FoundRepository,
    path: String,
}

async fn actions_context(
    state: &AppState,
    caller: &Caller<RepositoryScope>,
    owner: &str,
    name: &str,
) -> Result<ActionsContext, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::find(&snapshot, &caller.identity, owner, name, Action::ReadActions).await?;
    let path = found.path();
    Ok(ActionsContext { snapshot, found, path })
}

impl ActionsContext {
    async fn run(&self, id: &str) -> Result<Run, ApiError> {
        let id = id.parse().map_err(|_| Error::NotFound { what: "the run" })?;
        Ok(ci::run_in(&self.snapshot, self.found.repository.id, id).await?)
    }

    async fn jobs(&self, state: &AppState, run: &Run) -> Result<api::Jobs, ApiError> {
        let rows = runs::jobs_of_run(&self.snapshot, run.id, ci::JOBS_MAX).await.map_err(Error::from)?;
        let jobs: Vec<_> = rows.iter().map(|job| show::job(&state.root_url, &self.path, run, job)).collect();
        Ok(api::Jobs { total_count: show::number(jobs.len() as u64), jobs })
    }
}

/// Lists the runs of a repository, newest first.
#[utoipa::path(
    get, path = "",
    operation_id = "getWorkflowRuns", tag = "actions",
    params(ActionsPageParams),
    responses((status = 200, body = api::Runs)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = actions_context(&state, &caller, &owner, &name).await?;
    let (rows, total, headers) = page_of_runs(&state, &context, query.as_deref(), "runs").await?;
    let workflow_runs = rows.iter().map(|run| show::run(&state.root_url, &context.path, run)).collect();
    Ok((headers, ok(api::Runs { total_count: show::number(total), workflow_runs })).into_response())
}

/// Lists the runs of a repository, in the older format of Gitea's task list.
#[utoipa::path(
    get, path = "",
    operation_id = "ListActionTasks", tag = "actions",
    params(ActionsPageParams),
    responses((status = 200, body = api::TaskList)),
)]
pub(in crate::http) async fn list_tasks(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = actions_context(&state, &caller, &owner, &name).await?;
    let (rows, total, headers) = page_of_runs(&state, &context, query.as_deref(), "tasks").await?;
    let workflow_runs = rows.iter().map(|run| show::task(&state.root_url, &context.path, run)).collect();
    Ok((headers, ok(api::TaskList { total_count: show::number(total), workflow_runs })).into_response())
}

async fn page_of_runs(
    state: &AppState,
    context: &ActionsContext,
    query: Option<&str>,
    list: &str,
) -> Result<(Vec<Run>, u64, http::HeaderMap), ApiError> {
    let page = PageQuery::of_actions(query);
    let repository = context.found.repository.id;
    let (rows, total) =
        runs::of_repository(&context.snapshot, repository, page.skip(), page.limit).await.map_err(Error::from)?;
    let address = format!("{}/{list}", show::actions_url(&state.root_url, &context.path));
    Ok((rows, total, page.headers(&address, query, total)))
}

/// Returns a run.
#[utoipa::path(
    get, path = "",
    operation_id = "GetWorkflowRun", tag = "actions",
    responses((status = 200, body = api::Run)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, run)): Path<(String, String, String)>,
) -> Result<JsonResponse<api::Run>, ApiError> {
    let context = actions_context(&state, &caller, &owner, &name).await?;
    let run = context.run(&run).await?;
    Ok(ok(show::run(&state.root_url, &context.path, &run)))
}

/// Lists the jobs of a run, oldest first.
#[utoipa::path(
    get, path = "",
    operation_id = "listWorkflowRunJobs", tag = "actions",
    responses((status = 200, body = api::Jobs)),
)]
pub(in crate::http) async fn jobs(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, run)): Path<(String, String, String)>,
) -> Result<JsonResponse<api::Jobs>, ApiError> {
    let context = actions_context(&state, &caller, &owner, &name).await?;
    let run = context.run(&run).await?;
    Ok(ok(context.jobs(&state, &run).await?))
}

/// Returns an attempt of a run. A rerun is a new run, so only attempt 1 exists.
#[utoipa::path(
    get, path = "",
    operation_id = "getWorkflowRunAttempt", tag = "actions",
    responses((status = 200, body = api::Run)),
)]
pub(in crate::http) async fn attempt(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, run, attempt)): Path<(String, String, String, String)>,
) -> Result<JsonResponse<api::Run>, ApiError> {
    first_attempt(&attempt)?;
    get(State(state), caller, Path((owner, name, run))).await
}

/// Lists the jobs of an attempt, oldest first.
#[utoipa::path(
    get, path = "",
    operation_id = "listWorkflowRunAttemptJobs", tag = "actions",
    responses((status = 200, body = api::Jobs)),
)]
pub(in crate::http) async fn attempt_jobs(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, run, attempt)): Path<(String, String, String, String)>,
) -> Result<JsonResponse<api::Jobs>, ApiError> {
    first_attempt(&attempt)?;
    jobs(State(state), caller, Path((owner, name, run))).await
}

fn first_attempt(attempt: &str) -> Result<(), Error> {
    if attempt == "1" { Ok(()) } else { Err(Error::NotFound { what: "the attempt" }) }
}

/// Returns a job.
#[utoipa::path(
    get, path = "",
    operation_id = "getWorkflowJob", tag = "actions",
    responses((status = 200, body = api::Job)),
)]
pub(in crate::http) async fn job(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, job)): Path<(String, String, String)>,
) -> Result<JsonResponse<api::Job>, ApiError> {
    let missing = || Error::NotFound { what: "the job" };
    let context = actions_context(&state, &caller, &owner, &name).await?;
    let id = job.parse().map_err(|_| missing())?;
    let row = runs::job_by_id(&context.snapshot, id).await.map_err(Error::from)?;
    let row = row.filter(|row| row.repository_id == context.found.repository.id).ok_or_else(missing)?;
    let run = ci::run_in(&context.snapshot, row.repository_id, row.run_id).await?;
    Ok(ok(show::job(&state.root_url, &context.path, &run, &row)))
}
