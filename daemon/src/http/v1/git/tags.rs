//! Tags and tag objects.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;

use super::scene;
use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository},
        error::ApiError,
        extract::{Output, ok},
        page::Page,
    },
    service::browse::tags,
};

/// `GET /repos/{owner}/{repo}/tags`
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let page = Page::of(query.as_deref());
    let (tags, total) = tags::list(&scene.browse, page.skip(), page.limit).await?;
    let shown: Vec<_> = tags.iter().map(|tag| scene.tag(tag)).collect();
    let address = format!("{}/tags", scene.api);
    Ok((page.headers(&address, query.as_deref(), total), ok(shown)).into_response())
}

/// `GET /repos/{owner}/{repo}/tags/{tag}`
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, tag)): Path<(String, String, String)>,
) -> Result<Output<api::Tag>, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let tag = tags::get(&scene.browse, &tag).await?;
    Ok(ok(scene.tag(&tag)))
}

/// `GET /repos/{owner}/{repo}/git/tags/{sha}`
pub(in crate::http) async fn annotated(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, sha)): Path<(String, String, String)>,
) -> Result<Output<api::AnnotatedTag>, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let tag = tags::annotated(&scene.browse, &sha).await?;
    Ok(ok(scene.annotated(&tag)))
}
