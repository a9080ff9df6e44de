//! Backups of the data directory. For administrators.

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use futures_util::stream::unfold;
use http::{HeaderValue, StatusCode, header};

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
        openapi::shapes::Bytes,
    },
    service::backups,
    shares::Holder,
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

/// Starts a backup to a directory on the machine of the daemon or to a bucket. Only on the Unix socket.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierCreateBackup", tag = "farrier",
    request_body = api::CreateBackup,
    responses(
        (status = 202, body = api::Backup),
        (status = 409, description = "A backup is running, on this node or on another one."),
        (status = 422, description = "The directory is not valid."),
    ),
)]
pub(in crate::http) async fn start(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    JsonBody(input): JsonBody<api::CreateBackup>,
) -> Result<JsonResponse<api::Backup>, ApiError> {
    Ok(JsonResponse(
        StatusCode::ACCEPTED,
        backups::start(&state, &caller.identity, local_user(&caller.holder), input).await?,
    ))
}

/// Makes a backup and returns it as a tar file. Only on the Unix socket.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierCreateBackupStream", tag = "farrier",
    request_body = api::CreateBackupStream,
    responses(
        (status = 200, body = Bytes, content_type = "application/x-tar"),
        (status = 409, description = "A backup is running, on this node or on another one."),
    ),
)]
pub(in crate::http) async fn stream(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    JsonBody(input): JsonBody<api::CreateBackupStream>,
) -> Result<Response, ApiError> {
    let stream = backups::stream(&state, &caller.identity, local_user(&caller.holder), input).await?;
    let pieces = unfold(stream, async |mut stream| {
        let piece = stream.next().await?;
        Some((piece, stream))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// Returns the user of a caller on the Unix socket.
fn local_user(holder: &Holder) -> Option<u32> {
    match holder {
        Holder::Socket(uid) => *uid,
        _ => None,
    }
}
