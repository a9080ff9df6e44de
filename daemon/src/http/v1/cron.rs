//! The scheduled tasks of the daemon, which run when they are due.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        openapi::parameters::PageParams,
        page::PageQuery,
        show,
    },
    service::scheduled::{self, ScheduledTask},
};

/// Lists the scheduled tasks of the daemon, which run when they are due.
#[utoipa::path(
    get, path = "",
    operation_id = "adminCronList", tag = "admin",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Cron>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    _caller: Caller<AdminScope>,
    RawQuery(query): RawQuery,
) -> Response {
    let page = PageQuery::of(query.as_deref());
    let (tasks, total) = page.cut(ScheduledTask::ALL.to_vec());
    let shown: Vec<_> = tasks
        .into_iter()
        .map(|task| api::Cron {
            name: task.name().into(),
            schedule: task.schedule().into(),
            next: show::time(0),
            prev: show::time(0),
            exec_times: 0,
        })
        .collect();
    page.response(&state, "/api/v1/admin/cron", query.as_deref(), total, shown)
}

/// Runs a scheduled task now.
#[utoipa::path(
    post, path = "",
    operation_id = "adminCronRun", tag = "admin",
    responses((status = 204)),
)]
pub(in crate::http) async fn run(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(task): Path<String>,
) -> Result<StatusCode, ApiError> {
    scheduled::run(&state, &caller.identity, &task).await?;
    Ok(StatusCode::NO_CONTENT)
}
