//! References, trees and blobs: shows them by name or id.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use farrier_common::api;

use super::{BrowseContext, QueryParams, browse_context};
use crate::{
    git::read::tree::TreeEntry,
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::TreeParams,
        page::PageQuery,
        show::number,
    },
    service::browse::objects,
};

/// Lists all references.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListAllGitRefs", tag = "repository",
    responses((status = 200, body = Vec<api::GitReference>)),
)]
pub(in crate::http) async fn refs(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    shown_refs(&context, "").await
}

/// Lists the references whose names begin with a prefix.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListGitRefs", tag = "repository",
    responses((status = 200, body = Vec<api::GitReference>)),
)]
pub(in crate::http) async fn refs_below(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, prefix)): Path<(String, String, String)>,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    shown_refs(&context, &prefix).await
}

async fn shown_refs(context: &BrowseContext, prefix: &str) -> Result<Response, ApiError> {
    let found = objects::refs(&context.browse, prefix).await?;
    let shown: Vec<_> = found.iter().map(|reference| context.reference(reference)).collect();
    Ok((PageQuery::all(shown.len() as u64), ok(shown)).into_response())
}

/// Returns a page of a tree.
#[utoipa::path(
    get, path = "",
    operation_id = "GetTree", tag = "repository",
    params(TreeParams),
    responses((status = 200, body = api::Tree), (status = 400, description = "The text does not name a tree.")),
)]
pub(in crate::http) async fn tree(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, sha)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let params = QueryParams::new(query.as_deref());
    let page = PageQuery::of_trees(query.as_deref());
    let recursive = params.flag("recursive", false);
    let (id, (entries, total)) = objects::tree(&context.browse, &sha, recursive, page.skip(), page.limit).await?;
    let url = format!("{}/git/trees/{id}", context.api);
    let body = api::Tree {
        sha: id,
        tree: entries.iter().map(|entry| shown_entry(&context, entry)).collect(),
        truncated: page.number < page.count(total),
        page: number(page.number),
        total_count: number(total),
        url: url.clone(),
    };
    Ok((page.headers(&url, query.as_deref(), total), ok(body)).into_response())
}

fn shown_entry(context: &BrowseContext, entry: &TreeEntry) -> api::TreeEntry {
    let url = match entry.kind.as_str() {
        kind @ ("blob" | "tree") => format!("{}/git/{kind}s/{}", context.api, entry.id),
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

/// Returns a blob. The content is omitted if it is larger than 10 MiB.
#[utoipa::path(
    get, path = "",
    operation_id = "GetBlob", tag = "repository",
    responses((status = 200, body = api::Blob), (status = 400, description = "The text is not the id of an object.")),
)]
pub(in crate::http) async fn blob(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, sha)): Path<(String, String, String)>,
) -> Result<JsonResponse<api::Blob>, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let (info, content) = objects::blob(&context.browse, &sha).await?;
    Ok(ok(api::Blob {
        content: content.map(|content| BASE64.encode(content)).unwrap_or_default(),
        encoding: "base64".into(),
        url: format!("{}/git/blobs/{}", context.api, info.id),
        sha: info.id,
        size: number(info.size),
    }))
}
