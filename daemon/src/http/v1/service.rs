//! Version and health of the daemon.

use axum::extract::State;
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::OpenToAnonymous,
        extract::{JsonResponse, ok},
    },
    service::status,
};

/// Returns the version of the API.
#[utoipa::path(
    get, path = "",
    operation_id = "getVersion", tag = "miscellaneous",
    responses((status = 200, body = api::Version)),
)]
pub(in crate::http) async fn version(State(state): State<AppState>, _: OpenToAnonymous) -> JsonResponse<api::Version> {
    ok(api::Version { version: state.config.server.version.clone() })
}

/// Returns the health of the daemon: 200 if it can handle requests, else 503.
#[utoipa::path(
    get, path = "",
    operation_id = "getHealth", tag = "miscellaneous",
    security(()),
    responses((status = 200, body = api::Health), (status = 503, body = api::Health)),
)]
pub(in crate::http) async fn health(State(state): State<AppState>) -> JsonResponse<api::Health> {
    let health = status::health(&state).await;
    let status = if health.status == "fail" { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    JsonResponse(status, health)
}
