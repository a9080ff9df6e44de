//! What farrier does not have, where clients expect a list: an empty one, for those who may read.

use axum::{
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use super::scene;
use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository},
        error::ApiError,
        extract::ok,
        openapi::shapes::NoTopics,
        page::Page,
    },
};

/// A list of what farrier does not have: always empty.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/releases",
    operation_id = "repoListReleases", tag = "repository",
    responses((status = 200, body = Vec<serde_json::Value>)),
)]
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    scene(app, caller, &owner, &name).await?;
    Ok((Page::all(0), ok(json!([]))).into_response())
}

/// Topics of a repository: it has none.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/topics",
    operation_id = "repoListTopics", tag = "repository",
    responses((status = 200, body = NoTopics)),
)]
pub(in crate::http) async fn topics(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    scene(app, caller, &owner, &name).await?;
    Ok((Page::all(0), ok(json!({ "topics": [] }))).into_response())
}

/// Languages of a repository, which are not counted: always empty.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/languages",
    operation_id = "repoGetLanguages", tag = "repository",
    responses((status = 200, body = BTreeMap<String, i64>)),
)]
pub(in crate::http) async fn languages(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    scene(app, caller, &owner, &name).await?;
    Ok(ok(json!({})).into_response())
}
