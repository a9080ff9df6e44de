//! Releases.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::Release;
use http::StatusCode;

use super::{BrowseContext, QueryParams, browse_context_for};
use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::{PageParams, ReleaseListParams},
        page::PageQuery,
    },
    service::{Error, access::Action, releases},
    show,
    store::releases::{ReleaseFilter, assets},
};

/// Memory for each file in the description of a release, in bytes: the row, the object and its JSON.
const FILE_BYTES: usize = 2_048;

type ReleasePath = Path<(String, String, String)>;

/// Lists releases, newest first. Drafts are listed for callers with write access.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListReleases", tag = "repository",
    params(ReleaseListParams, PageParams),
    responses((status = 200, body = Vec<api::Release>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::ReadReleases).await?;
    let (page, params) = (PageQuery::of(query.as_deref()), QueryParams::new(query.as_deref()));
    let filter = ReleaseFilter { draft: params.choice("draft"), prerelease: params.choice("pre-release") };
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let (rows, total) =
        releases::list(&snapshot, &context.browse.found, filter, page.window(), context.memory.as_deref()).await?;
    drop(snapshot);
    let address = format!("{}/releases", context.api);
    Ok((page.headers(&address, query.as_deref(), total), ok(shown(&context, &rows).await?)).into_response())
}

/// Returns a release.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetRelease", tag = "repository",
    responses((status = 200, body = api::Release)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): ReleasePath,
) -> Result<JsonResponse<api::Release>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::ReadReleases).await?;
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let row = releases::get(&snapshot, &context.browse.found, number(&id)).await?;
    drop(snapshot);
    one(&context, row).await.map(ok)
}

/// Returns the newest published release that is no prerelease.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetLatestRelease", tag = "repository",
    responses((status = 200, body = api::Release)),
)]
pub(in crate::http) async fn latest(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<JsonResponse<api::Release>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::ReadReleases).await?;
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let row = releases::latest(&snapshot, &context.browse.found).await?;
    drop(snapshot);
    one(&context, row).await.map(ok)
}

/// Returns the release of a tag.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetReleaseByTag", tag = "repository",
    responses((status = 200, body = api::Release)),
)]
pub(in crate::http) async fn get_by_tag(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, tag)): ReleasePath,
) -> Result<JsonResponse<api::Release>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::ReadReleases).await?;
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let row = releases::by_tag(&snapshot, &context.browse.found, &tag).await?;
    drop(snapshot);
    one(&context, row).await.map(ok)
}

/// Creates a release, and its tag if it does not exist and the release is no draft.
#[utoipa::path(
    post, path = "",
    operation_id = "repoCreateRelease", tag = "repository",
    request_body = api::CreateRelease,
    responses(
        (status = 201, body = api::Release),
        (status = 409, description = "The tag has a release already, or was changed concurrently."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    JsonBody(input): JsonBody<api::CreateRelease>,
) -> Result<JsonResponse<api::Release>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::WriteReleases).await?;
    let row = releases::create(&context.state, &context.identity, &context.browse, input).await?;
    one(&context, row).await.map(created)
}

/// Changes a release, or publishes a draft.
#[utoipa::path(
    patch, path = "",
    operation_id = "repoEditRelease", tag = "repository",
    request_body = api::EditRelease,
    responses(
        (status = 200, body = api::Release),
        (status = 409, description = "The tag has another release, or was changed concurrently."),
        (status = 423, description = "The repository is archived."),
    ),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): ReleasePath,
    JsonBody(input): JsonBody<api::EditRelease>,
) -> Result<JsonResponse<api::Release>, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::WriteReleases).await?;
    let row = releases::edit(&context.state, &context.identity, &context.browse, number(&id), input).await?;
    one(&context, row).await.map(ok)
}

/// Deletes a release. Its tag stays.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteRelease", tag = "repository",
    responses((status = 204), (status = 423, description = "The repository is archived.")),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): ReleasePath,
) -> Result<StatusCode, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::WriteReleases).await?;
    releases::delete(&context.state, &context.identity, &context.browse, number(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes the release of a tag. The tag stays.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteReleaseByTag", tag = "repository",
    responses((status = 204), (status = 423, description = "The repository is archived.")),
)]
pub(in crate::http) async fn delete_by_tag(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, tag)): ReleasePath,
) -> Result<StatusCode, ApiError> {
    let context = browse_context_for(state, caller, &owner, &name, Action::WriteReleases).await?;
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let row = releases::by_tag(&snapshot, &context.browse.found, &tag).await?;
    drop(snapshot);
    releases::delete(&context.state, &context.identity, &context.browse, row.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the id in a path; 0, which no release has, if it is not a number.
fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

async fn one(context: &BrowseContext, row: Release) -> Result<api::Release, ApiError> {
    Ok(shown(context, &[row]).await?.pop().unwrap_or_default())
}

async fn shown(context: &BrowseContext, rows: &[Release]) -> Result<Vec<api::Release>, ApiError> {
    let snapshot = context.state.store.read().await.map_err(Error::from)?;
    let authors = releases::authors(&snapshot, rows).await.map_err(Error::from)?;
    let (root_url, path) = (&context.state.root_url, context.browse.found.path());
    let mut shown = Vec::with_capacity(rows.len());
    for row in rows {
        let files = assets::of_release(&snapshot, row.repository_id, row.id).await.map_err(Error::from)?;
        context.grow(files.len() * FILE_BYTES)?;
        let author = authors.get(&row.author_id);
        shown.push(show::release(root_url, &context.identity, &path, row, author, &files));
    }
    Ok(shown)
}
