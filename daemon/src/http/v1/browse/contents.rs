//! Files and directories by their path, as JSON.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use farrier_common::api;

use super::{QueryParams, Scene, scene, show::escaped};
use crate::{
    app::App,
    git::read::tree::Shape,
    http::{
        auth::{Caller, OfRepository},
        error::ApiError,
        extract::ok,
        openapi::{parameters::AtRevision, shapes::FileOrDirectory},
        show::number,
    },
    service::browse::contents::{self, Contents, Item},
};

/// What stands in the root directory.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/contents",
    operation_id = "repoGetContentsList", tag = "repository",
    params(AtRevision),
    responses((status = 200, body = Vec<api::Contents>), (status = 422, description = "A path that cannot be used.")),
)]
pub(in crate::http) async fn root(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    query: RawQuery,
) -> Result<Response, ApiError> {
    get(State(app), caller, Path((owner, name, String::new())), query).await
}

/// A file with its content, or what stands in a directory.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/contents/{path}",
    operation_id = "repoGetContents", tag = "repository",
    params(AtRevision),
    responses((status = 200, body = FileOrDirectory), (status = 422, description = "A path that cannot be used.")),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, path)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let revision = QueryParams::new(query.as_deref()).text("ref");
    let shown = |item: &Item, alone| shown(&scene, item, &revision, alone);
    match contents::get(&scene.browse, &path, &revision).await? {
        Contents::Directory(items) => {
            let list: Vec<_> = items.iter().map(|item| shown(item, false)).collect();
            Ok(ok(list).into_response())
        }
        Contents::Single(item) => Ok(ok(shown(&item, true)).into_response()),
    }
}

/// An entry; `alone` when it was asked for by its own path.
fn shown(scene: &Scene, item: &Item, revision: &str, alone: bool) -> api::Contents {
    let shape = item.entry.shape();
    let path = escaped(&item.path);
    let default = &scene.browse.found.repository.default_branch;
    let revision = escaped(if revision.is_empty() { default } else { revision });
    let url = format!("{}/contents/{path}?ref={revision}", scene.api);
    let outside = shape == Shape::Submodule;
    let kind = if shape == Shape::Directory { "trees" } else { "blobs" };
    let git_url = (!outside).then(|| format!("{}/git/{kind}/{}", scene.api, item.entry.id));
    let html_url = (!outside).then(|| format!("{}/src/{revision}/{path}", scene.html));
    let content = item.content.as_deref().filter(|_| alone);
    let is_file = alone && shape == Shape::File;
    api::Contents {
        name: item.path.rsplit('/').next().unwrap_or_default().to_owned(),
        path: item.path.clone(),
        sha: item.entry.id.clone(),
        last_commit_sha: item.last_commit.clone(),
        kind: word(shape).into(),
        size: number(item.entry.size),
        encoding: is_file.then(|| "base64".to_owned()),
        content: is_file.then(|| content.map(|bytes| BASE64.encode(bytes)).unwrap_or_default()),
        target: content.filter(|_| shape == Shape::Symlink).map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        download_url: matches!(shape, Shape::File | Shape::Symlink)
            .then(|| format!("{}/raw/{path}?ref={revision}", scene.api)),
        submodule_git_url: item.submodule_url.clone(),
        links: api::ContentsLinks { own: url.clone(), git: git_url.clone(), html: html_url.clone() },
        url,
        html_url,
        git_url,
    }
}

fn word(shape: Shape) -> &'static str {
    match shape {
        Shape::File => "file",
        Shape::Directory => "dir",
        Shape::Symlink => "symlink",
        Shape::Submodule => "submodule",
    }
}
