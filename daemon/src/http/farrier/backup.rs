//! Backups of the data directory. For administrators.

use axum::extract::State;
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
    },
    service::backups,
};

/// Returns the backup that runs, or the last one since the daemon started.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetBackup", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::Backup)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
) -> Result<JsonResponse<api::Backup>, ApiError> {
    Ok(ok(backups::get(&state, &caller.identity).await?))
}

/// Starts a backup to a directory on the machine of the daemon. Only on the Unix socket.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierCreateBackup", tag = "farrier",
    request_body = api::CreateBackup,
    responses(
        (status = 202, body = api::Backup),
        (status = 409, description = "A backup is running."),
        (status = 422, description = "The directory is not valid, or the store or the blobs are not files."),
    ),
)]
pub(in crate::http) async fn start(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    JsonBody(input): JsonBody<api::CreateBackup>,
) -> Result<JsonResponse<api::Backup>, ApiError> {
    Ok(JsonResponse(StatusCode::ACCEPTED, backups::start(&state, &caller.identity, input).await?))
}
