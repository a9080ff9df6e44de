//! Branches.

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
    service::browse::branches,
};

/// `GET /repos/{owner}/{repo}/branches`
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let page = Page::of(query.as_deref());
    let (branches, total) = branches::list(&scene.browse, page.skip(), page.limit).await?;
    let tips: Vec<_> = branches.iter().map(|branch| &branch.commit).collect();
    let gallery = scene.gallery(&tips).await?;
    let shown: Vec<_> = branches.iter().map(|branch| gallery.branch(branch)).collect();
    let address = format!("{}/branches", scene.api);
    Ok((page.headers(&address, query.as_deref(), total), ok(shown)).into_response())
}

/// `GET /repos/{owner}/{repo}/branches/{branch}`
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, branch)): Path<(String, String, String)>,
) -> Result<Output<api::Branch>, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let branch = branches::get(&scene.browse, &branch).await?;
    Ok(ok(scene.gallery(&[&branch.commit]).await?.branch(&branch)))
}
