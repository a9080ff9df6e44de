//! The log filter.

use axum::extract::State;
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
    },
    service::logs,
};

/// Returns the log filter.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetLogFilter", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::LogFilter)),
)]
pub(in crate::http) async fn get(State(state): State<AppState>, _: Caller<AdminScope>) -> JsonResponse<api::LogFilter> {
    ok(logs::get(&state))
}

/// Changes the log filter until the configuration is reloaded.
#[utoipa::path(
    patch, path = "",
    operation_id = "farrierSetLogFilter", tag = "farrier",
    request_body = api::SetLogFilter,
    responses((status = 200, body = api::LogFilter), (status = 422, description = "The filter is not valid.")),
)]
pub(in crate::http) async fn set(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    JsonBody(input): JsonBody<api::SetLogFilter>,
) -> Result<JsonResponse<api::LogFilter>, ApiError> {
    Ok(ok(logs::set(&state, &caller.identity, input).await?))
}
