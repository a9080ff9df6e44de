//! Runs of all repositories.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::{Conclusion, RunStatus};

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, SignedIn},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::RunListParams,
        page::{self, PageQuery},
        query, show,
    },
    model::words,
    service::{
        Error,
        access::Action,
        ci::{
            self,
            across::{self, RunQuery},
            failing,
        },
    },
};

/// Lists the runs that the caller may read, with their jobs, newest first. `Link` has the address of the next page.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListRuns", tag = "farrier",
    params(RunListParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::FoundRun>), (status = 422, description = "A filter is not valid.")),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let repository = super::repository(&snapshot, &caller.identity, query, Action::ReadActions).await?;
    let before = query::number(query, "cursor")?;
    let statuses = [RunStatus::InProgress, RunStatus::Completed].map(|status| (words::run_status_word(status), status));
    let status = query::one_of(query, "status", &statuses)?;
    let conclusions = [Conclusion::Success, Conclusion::Failure, Conclusion::Cancelled, Conclusion::Skipped]
        .map(|conclusion| (words::conclusion_word(conclusion), conclusion));
    let conclusion = query::one_of(query, "conclusion", &conclusions)?;
    let words = query::words(query, "q")?;
    let limit = PageQuery::of_actions(query).limit;
    let selection = RunQuery { repository, status, conclusion, words, before, limit };
    let found = across::page(&snapshot, &caller.identity, &selection).await?;
    let next = found.next.map(|next| next.to_string());
    let mut headers = page::by_cursor(&state, uri.path(), query, next.as_deref(), limit);
    if !selection.words.is_empty() {
        headers.extend(page::examined(found.examined));
    }
    let shown: Vec<_> = found.entries.iter().map(|entry| show::found_run(&state, entry)).collect();
    Ok((headers, ok(shown)).into_response())
}

/// Lists the workflows whose last runs failed, the last failure first. Reads the newest 4,096 runs of the last seven
/// days.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListFailingWorkflows", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::FailingWorkflows)),
)]
pub(in crate::http) async fn failing(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
) -> Result<JsonResponse<api::FailingWorkflows>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = failing::find(&snapshot, &caller.identity, state.now_ms()).await?;
    Ok(ok(show::failing_workflows(&found)))
}

/// Returns a run with its jobs.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetRun", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::FoundRun)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::FoundRun>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let entry = across::find(&snapshot, &caller.identity, number(&id)?).await?;
    Ok(ok(show::found_run(&state, &entry)))
}

/// Cancels a run: its live jobs end with the conclusion `cancelled`, and their tokens stop working.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierCancelRun", tag = "farrier",
    responses(
        (status = 200, body = api::FoundRun),
        (status = 409, description = "The run has already completed."),
    ),
)]
pub(in crate::http) async fn cancel(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::FoundRun>, ApiError> {
    let id = number(&id)?;
    ci::cancel_run(&state, &caller.identity, id).await?;
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let entry = across::find(&snapshot, &caller.identity, id).await?;
    Ok(ok(show::found_run(&state, &entry)))
}

fn number(id: &str) -> Result<u64, Error> {
    id.parse().map_err(|_| Error::NotFound { what: "the run" })
}
