//! The whole route table.

use axum::{
    Router,
    routing::{any, get, post},
};

use super::{
    artifact::{block, download, twirp},
    error::ApiError,
    farrier,
    v1::{artifacts, repositories, runs, service, users},
};
use crate::app::App;

/// Every route of the daemon.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/api/healthz", get(service::health))
        .nest("/api/v1", compatible())
        .nest("/api/farrier/v1", own())
        .route("/twirp", any(twirp::call))
        .route("/twirp/{*service_and_method}", any(twirp::call))
        .route("/_blob/{artifact}/{generation}/{file}", get(download::get).put(block::put))
        .fallback(async || ApiError::no_route())
        .method_not_allowed_fallback(async || ApiError::no_method())
        .with_state(app)
}

fn compatible() -> Router<App> {
    Router::new()
        .route("/version", get(service::version))
        .route("/user", get(users::current))
        .route("/user/repos", post(repositories::create_own))
        .route("/users/{name}/tokens", post(users::create_token))
        .route("/admin/users", post(users::create))
        .route("/admin/users/{name}/repos", post(repositories::create_for))
        .route("/repos/{owner}/{repo}", get(repositories::get))
        .nest("/repos/{owner}/{repo}/actions", actions())
}

fn actions() -> Router<App> {
    Router::new()
        .route("/artifacts", get(artifacts::list))
        .route("/artifacts/{id}", get(artifacts::get).delete(artifacts::delete))
        .route("/artifacts/{id}/zip", get(artifacts::download))
        .route("/runs", get(runs::list))
        .route("/runs/{run}", get(runs::get))
        .route("/runs/{run}/artifacts", get(artifacts::list_of_run))
        .route("/runs/{run}/jobs", get(runs::jobs))
        .route("/runs/{run}/attempts/{attempt}", get(runs::attempt))
        .route("/runs/{run}/attempts/{attempt}/jobs", get(runs::attempt_jobs))
        .route("/jobs/{job}", get(runs::job))
        .route("/tasks", get(runs::list_tasks))
}

fn own() -> Router<App> {
    Router::new()
        .route("/status", get(farrier::status::get))
        .route("/jobs", post(farrier::ci::begin))
        .route("/jobs/{job}/end", post(farrier::ci::end))
}
