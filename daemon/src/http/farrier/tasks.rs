//! What the daemon does in the background because somebody asked for it.

use axum::extract::{Path, State};
use farrier_common::api;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository},
        error::ApiError,
        extract::{Output, ok},
    },
    service::{Error, tasks},
    show,
};

/// Tasks that run, and for an hour those that have ended: the youngest first.
#[utoipa::path(
    get, path = "/tasks",
    operation_id = "farrierListTasks", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::BackgroundTasks)),
)]
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<OfRepository>,
) -> Result<Output<api::BackgroundTasks>, ApiError> {
    let all = tasks::list(&app, &caller.identity).await?;
    let shown = all.iter().map(|task| show::background_task(task, app.now_ms())).collect();
    Ok(ok(api::BackgroundTasks { tasks: shown }))
}

/// One task.
#[utoipa::path(
    get, path = "/tasks/{task}",
    operation_id = "farrierGetTask", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::BackgroundTask)),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path(id): Path<String>,
) -> Result<Output<api::BackgroundTask>, ApiError> {
    let task = tasks::find(&app, &caller.identity, number(&id)?).await?;
    Ok(ok(show::background_task(&task, app.now_ms())))
}

/// Ends a task: nothing stays of what it has made so far.
#[utoipa::path(
    post, path = "/tasks/{task}/cancel",
    operation_id = "farrierCancelTask", tag = "farrier",
    security(("account" = [])),
    responses(
        (status = 202, body = api::BackgroundTask),
        (status = 409, description = "It has ended already."),
    ),
)]
pub(in crate::http) async fn cancel(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path(id): Path<String>,
) -> Result<Output<api::BackgroundTask>, ApiError> {
    let task = tasks::cancel(&app, &caller.identity, number(&id)?).await?;
    Ok(Output(StatusCode::ACCEPTED, show::background_task(&task, app.now_ms())))
}

fn number(id: &str) -> Result<u64, Error> {
    id.parse().map_err(|_| Error::NotFound { what: "the task" })
}
