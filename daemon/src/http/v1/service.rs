//! The service itself: version and health.

use axum::extract::State;
use farrier_common::api;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::Anyone,
        extract::{Output, ok},
    },
    service::status,
};

/// The version of the API.
#[utoipa::path(
    get, path = "/version",
    operation_id = "getVersion", tag = "miscellaneous",
    responses((status = 200, body = api::Version)),
)]
pub(in crate::http) async fn version(State(app): State<App>, _: Anyone) -> Output<api::Version> {
    ok(api::Version { version: app.config.server.version.clone() })
}

/// Whether requests can be served.
#[utoipa::path(
    get, path = "/healthz",
    operation_id = "getHealth", tag = "miscellaneous",
    security(()),
    responses((status = 200, body = api::Health), (status = 503, body = api::Health)),
)]
pub(in crate::http) async fn health(State(app): State<App>) -> Output<api::Health> {
    let health = status::health(&app).await;
    let status = if health.status == "fail" { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    Output(status, health)
}
