//! The status of the daemon: version, listeners, load, storage and problems.

use axum::extract::State;
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{Caller, NoScope},
        error::ApiError,
        extract::{JsonResponse, ok},
    },
    service::status,
};

/// Returns the status of the daemon.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetStatus", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::Status)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<NoScope>,
) -> Result<JsonResponse<api::Status>, ApiError> {
    Ok(ok(status::status(&state, &caller.identity).await?))
}
