//! The database itself: references, trees, blobs.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use farrier_common::api;

use super::{QueryParams, Scene, scene};
use crate::{
    app::App,
    git::read::tree::Entry,
    http::{
        auth::{Caller, OfRepository},
        error::ApiError,
        extract::{Output, ok},
        openapi::{parameters::Trees, shapes::References},
        page::Page,
        show::number,
    },
    service::browse::objects,
};

/// All references.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/git/refs",
    operation_id = "repoListAllGitRefs", tag = "repository",
    responses((status = 200, body = Vec<api::GitReference>)),
)]
pub(in crate::http) async fn refs(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    shown_refs(&scene, "").await
}

/// References below a prefix; an object when it names one in full.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/git/refs/{prefix}",
    operation_id = "repoListGitRefs", tag = "repository",
    responses((status = 200, body = References)),
)]
pub(in crate::http) async fn refs_below(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, prefix)): Path<(String, String, String)>,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    shown_refs(&scene, &prefix).await
}

async fn shown_refs(scene: &Scene, prefix: &str) -> Result<Response, ApiError> {
    let (found, whole) = objects::refs(&scene.browse, prefix).await?;
    let mut shown: Vec<_> = found.iter().map(|reference| scene.reference(reference)).collect();
    if whole && let Some(one) = shown.pop() {
        return Ok(ok(one).into_response());
    }
    Ok((Page::all(shown.len() as u64), ok(shown)).into_response())
}

/// A page of a tree.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/git/trees/{sha}",
    operation_id = "GetTree", tag = "repository",
    params(Trees),
    responses((status = 200, body = api::Tree), (status = 400, description = "This is no name of a tree.")),
)]
pub(in crate::http) async fn tree(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, sha)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let params = QueryParams::new(query.as_deref());
    let page = Page::of_trees(query.as_deref());
    let recursive = params.flag("recursive", false);
    let (id, (entries, total)) = objects::tree(&scene.browse, &sha, recursive, page.skip(), page.limit).await?;
    let url = format!("{}/git/trees/{id}", scene.api);
    let body = api::Tree {
        sha: id,
        tree: entries.iter().map(|entry| shown_entry(&scene, entry)).collect(),
        truncated: page.number < page.count(total),
        page: number(page.number),
        total_count: number(total),
        url: url.clone(),
    };
    Ok((page.headers(&url, query.as_deref(), total), ok(body)).into_response())
}

fn shown_entry(scene: &Scene, entry: &Entry) -> api::TreeEntry {
    let url = match entry.kind.as_str() {
        kind @ ("blob" | "tree") => format!("{}/git/{kind}s/{}", scene.api, entry.id),
        _ => String::new(),
    };
    api::TreeEntry {
        path: entry.path.clone(),
        mode: entry.mode.clone(),
        kind: entry.kind.clone(),
        size: number(entry.size),
        sha: entry.id.clone(),
        url,
    }
}

/// A blob; without its content when that is larger than 10 MiB.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/git/blobs/{sha}",
    operation_id = "GetBlob", tag = "repository",
    responses((status = 200, body = api::Blob), (status = 400, description = "This is no id of an object.")),
)]
pub(in crate::http) async fn blob(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, sha)): Path<(String, String, String)>,
) -> Result<Output<api::Blob>, ApiError> {
    let scene = scene(app, caller, &owner, &name).await?;
    let (info, content) = objects::blob(&scene.browse, &sha).await?;
    Ok(ok(api::Blob {
        content: content.map(|content| BASE64.encode(content)).unwrap_or_default(),
        encoding: "base64".into(),
        url: format!("{}/git/blobs/{}", scene.api, info.id),
        sha: info.id,
        size: number(info.size),
    }))
}
