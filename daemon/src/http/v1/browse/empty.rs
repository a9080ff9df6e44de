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
        page::Page,
    },
};

/// `GET /repos/{owner}/{repo}/releases`, `/stargazers`, `/subscribers`
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    scene(app, caller, &owner, &name).await?;
    Ok((Page::all(0), ok(json!([]))).into_response())
}

/// `GET /repos/{owner}/{repo}/topics`
pub(in crate::http) async fn topics(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    scene(app, caller, &owner, &name).await?;
    Ok((Page::all(0), ok(json!({ "topics": [] }))).into_response())
}

/// `GET /repos/{owner}/{repo}/languages`
pub(in crate::http) async fn languages(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    scene(app, caller, &owner, &name).await?;
    Ok(ok(json!({})).into_response())
}
