//! `GET /metrics`: metrics in the Prometheus text format. For administrators on the usual listeners, without
//! authentication on the listener of `metrics.listen`.

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing,
};
use http::header;

use super::{
    AppState,
    auth::{AdminScope, Caller},
    error::ApiError,
    v1::service::health,
};
use crate::{metrics::CONTENT_TYPE, service};

/// `GET /metrics` for administrators.
pub(super) async fn get(State(state): State<AppState>, _: Caller<AdminScope>) -> Response {
    metrics(&state).await
}

/// Builds the router of `metrics.listen`: metrics and health, without authentication.
pub fn metrics_router(state: AppState) -> Router {
    Router::new()
        .route("/metrics", routing::get(async |State(state): State<AppState>| metrics(&state).await))
        .route("/api/healthz", routing::get(health))
        .fallback(async || ApiError::no_route())
        .method_not_allowed_fallback(async || ApiError::no_method())
        .with_state(state)
}

async fn metrics(state: &AppState) -> Response {
    let exposition = service::metrics::collect(state).await;
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], exposition.text()).into_response()
}
