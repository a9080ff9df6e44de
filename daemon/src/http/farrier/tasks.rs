//! Background tasks that users started.

use axum::extract::{Path, State};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonResponse, ok},
        show,
    },
    service::{Error, tasks},
};

/// Lists running tasks and tasks that ended within the last hour, newest first.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListTasks", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::BackgroundTasks)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
) -> Result<JsonResponse<api::BackgroundTasks>, ApiError> {
    let all = tasks::list(&state, &caller.identity).await?;
    let shown = all.iter().map(|task| show::background_task(task, state.now_ms())).collect();
    Ok(ok(api::BackgroundTasks { tasks: shown }))
}

/// Returns a task.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetTask", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::BackgroundTask)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::BackgroundTask>, ApiError> {
    let task = tasks::find(&state, &caller.identity, number(&id)?).await?;
    Ok(ok(show::background_task(&task, state.now_ms())))
}

/// Cancels a task and deletes its partial result.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierCancelTask", tag = "farrier",
    security(("account" = [])),
    responses(
        (status = 202, body = api::BackgroundTask),
        (status = 409, description = "The task has already ended."),
    ),
)]
pub(in crate::http) async fn cancel(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::BackgroundTask>, ApiError> {
    let task = tasks::cancel(&state, &caller.identity, number(&id)?).await?;
    Ok(JsonResponse(StatusCode::ACCEPTED, show::background_task(&task, state.now_ms())))
}

fn number(id: &str) -> Result<u64, Error> {
    id.parse().map_err(|_| Error::NotFound { what: "the task" })
}
