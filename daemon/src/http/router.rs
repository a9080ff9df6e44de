//! The whole route table.

use axum::{
    Router,
    routing::{any, get, post},
};

use super::{
    artifact::{block, download, twirp},
    error::ApiError,
    farrier,
    v1::{artifacts, collaborators, migrations, repositories, repository_lists, runs, service, users},
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
        .route("/user/repos", get(repository_lists::own).post(repositories::create_own))
        .route("/users/{name}/repos", get(repository_lists::of_user))
        .route("/org/{name}/repos", post(repositories::create_in_org))
        .route(
            "/orgs/{name}/repos",
            get(repository_lists::of_org).post(repositories::create_in_org).delete(repositories::delete_all),
        )
        .route("/repositories/{id}", get(repositories::get_by_id))
        .route("/repos/search", get(repository_lists::search))
        .route("/repos/migrate", post(migrations::migrate))
        .route("/users/{name}/tokens", post(users::create_token))
        .route("/admin/users", post(users::create))
        .route("/admin/users/{name}/repos", post(repositories::create_for))
        .route("/repos/{owner}/{repo}", get(repositories::get).patch(repositories::edit).delete(repositories::delete))
        .route("/repos/{owner}/{repo}/forks", get(repositories::forks))
        .route("/repos/{owner}/{repo}/collaborators", get(collaborators::list))
        .route(
            "/repos/{owner}/{repo}/collaborators/{user}",
            get(collaborators::get).put(collaborators::put).delete(collaborators::delete),
        )
        .route("/repos/{owner}/{repo}/collaborators/{user}/permission", get(collaborators::permission))
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
