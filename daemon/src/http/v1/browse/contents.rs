//! Files and directories as JSON.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use farrier_common::api;

use super::{
    BrowseContext, QueryParams, browse_context,
    show::{escaped, own_time, time},
};
use crate::{
    git::read::tree::EntryKind,
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::ok,
        openapi::{parameters::RevisionParams, shapes::FileOrDirectory},
        show::number,
    },
    model::lfs_pointer::LfsPointer,
    service::browse::contents::{self, ContentEntry, Contents},
};

/// Lists the entries of the root directory.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetContentsList", tag = "repository",
    params(RevisionParams),
    responses((status = 200, body = Vec<api::Contents>), (status = 422, description = "The path is not valid.")),
)]
pub(in crate::http) async fn root(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    query: RawQuery,
) -> Result<Response, ApiError> {
    get(State(state), caller, Path((owner, name, String::new())), query).await
}

/// Returns a file with its content, or the entries of a directory.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetContents", tag = "repository",
    params(RevisionParams),
    responses((status = 200, body = FileOrDirectory), (status = 422, description = "The path is not valid.")),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, path)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = browse_context(state, caller, &owner, &name).await?;
    let revision = QueryParams::new(query.as_deref()).text("ref");
    let shown = |item: &ContentEntry, with_content| shown(&context, item, &revision, with_content);
    match contents::get(&context.browse, &path, &revision).await? {
        Contents::Directory(items) => {
            let list: Vec<_> = items.iter().map(|item| shown(item, false)).collect();
            Ok(ok(list).into_response())
        }
        Contents::Single(item) => Ok(ok(shown(&item, true)).into_response()),
    }
}

/// Converts an entry. `with_content`: the request was for this path, so the content is included.
pub(super) fn shown(context: &BrowseContext, item: &ContentEntry, revision: &str, with_content: bool) -> api::Contents {
    let shape = item.entry.entry_kind();
    let path = escaped(&item.path);
    let default = &context.browse.found.repository.default_branch;
    let revision = escaped(if revision.is_empty() { default } else { revision });
    let url = format!("{}/contents/{path}?ref={revision}", context.api);
    let is_submodule = shape == EntryKind::Submodule;
    let kind = if shape == EntryKind::Directory { "trees" } else { "blobs" };
    let git_url = (!is_submodule).then(|| format!("{}/git/{kind}/{}", context.api, item.entry.id));
    let html_url = (!is_submodule).then(|| format!("{}/src/{revision}/{path}", context.html));
    let content = item.content.as_deref().filter(|_| with_content);
    let is_file = with_content && shape == EntryKind::File;
    let pointer = content.filter(|_| is_file).and_then(LfsPointer::parse);
    api::Contents {
        name: item.path.rsplit('/').next().unwrap_or_default().to_owned(),
        path: item.path.clone(),
        sha: item.entry.id.clone(),
        last_commit_sha: item.last_commit.id.clone(),
        last_committer_date: time(item.last_commit.committer.seconds),
        last_author_date: own_time(&item.last_commit.author),
        kind: word(shape).into(),
        size: number(item.entry.size),
        encoding: is_file.then(|| "base64".to_owned()),
        content: is_file.then(|| content.map(|bytes| BASE64.encode(bytes)).unwrap_or_default()),
        lfs_size: pointer.as_ref().map(|pointer| number(pointer.size)),
        lfs_oid: pointer.map(|pointer| pointer.oid),
        target: content
            .filter(|_| shape == EntryKind::Symlink)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        download_url: matches!(shape, EntryKind::File | EntryKind::Symlink)
            .then(|| format!("{}/raw/{path}?ref={revision}", context.api)),
        submodule_git_url: item.submodule_url.clone(),
        links: api::ContentsLinks { own: url.clone(), git: git_url.clone(), html: html_url.clone() },
        url,
        html_url,
        git_url,
    }
}

fn word(shape: EntryKind) -> &'static str {
    match shape {
        EntryKind::File => "file",
        EntryKind::Directory => "dir",
        EntryKind::Symlink => "symlink",
        EntryKind::Submodule => "submodule",
    }
}
