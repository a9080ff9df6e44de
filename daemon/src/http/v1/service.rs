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

/// `GET /version`
pub(in crate::http) async fn version(State(app): State<App>, _: Anyone) -> Output<api::Version> {
    ok(api::Version { version: app.config.server.version.clone() })
}

/// `GET /api/healthz`: 200 while requests can be served, else 503.
pub(in crate::http) async fn health(State(app): State<App>) -> Output<api::Health> {
    let health = status::health(&app).await;
    let status = if health.problems.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Output(status, health)
}
