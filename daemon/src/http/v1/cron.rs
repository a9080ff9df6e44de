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
        openapi::parameters::{CronRunParams, PageParams},
        page::PageQuery,
        query, show,
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
    params(CronRunParams),
    responses(
        (status = 204),
        (status = 409, description = "The task is running already."),
        (status = 422, description = "`dry_run` is not valid, or the task has no dry run."),
    ),
)]
pub(in crate::http) async fn run(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(task): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<StatusCode, ApiError> {
    let query = query.as_deref();
    // Not read leniently: an empty or misspelled word must not become a run that removes something.
    query::filled(query, "dry_run")?;
    let dry_run = query::one_of(query, "dry_run", &[("true", true), ("false", false)])?.unwrap_or_default();
    scheduled::run(&state, &caller.identity, &task, dry_run).await?;
    Ok(StatusCode::NO_CONTENT)
}
