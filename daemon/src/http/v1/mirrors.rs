//! Syncs of pull mirrors, and push mirrors.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
        openapi::parameters::PageParams,
        page::PageQuery,
        show,
    },
    service::mirrors,
};

type MirrorPath = Path<(String, String, String)>;

/// Requests a sync of a pull mirror, which runs in the background.
#[utoipa::path(
    post, path = "",
    operation_id = "repoMirrorSync", tag = "repository",
    responses((status = 200), (status = 400, description = "The repository is not a mirror.")),
)]
pub(in crate::http) async fn sync(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    mirrors::request_sync(&state, &caller.identity, (&owner, &name)).await?;
    Ok(StatusCode::OK)
}

/// Converts a pull mirror to a normal repository.
#[utoipa::path(
    post, path = "",
    operation_id = "repoConvert", tag = "repository",
    responses(
        (status = 200, body = api::Repository),
        (status = 422, description = "The repository is not a mirror."),
    ),
)]
pub(in crate::http) async fn convert(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<JsonResponse<api::Repository>, ApiError> {
    let converted = mirrors::convert(&state, &caller.identity, (&owner, &name)).await?;
    Ok(ok(show::repository(&state, &caller.identity, &converted)))
}

/// Lists the push mirrors of a repository, oldest first.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListPushMirrors", tag = "repository",
    params(PageParams),
    responses((status = 200, body = Vec<api::PushMirror>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let (found, all) = mirrors::push_mirrors(&state, &caller.identity, (&owner, &name)).await?;
    let page = PageQuery::of(query.as_deref());
    let (rows, total) = page.cut(all);
    let shown: Vec<_> = rows.iter().map(|row| show::push_mirror(&found.repository.name, row)).collect();
    let path = format!("/api/v1/repos/{owner}/{name}/push_mirrors");
    Ok(page.response(&state, &path, query.as_deref(), total, shown))
}

/// Returns a push mirror of a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetPushMirrorByRemoteName", tag = "repository",
    responses((status = 200, body = api::PushMirror)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, mirror)): MirrorPath,
) -> Result<JsonResponse<api::PushMirror>, ApiError> {
    let (found, row) = mirrors::push_mirror(&state, &caller.identity, (&owner, &name), &mirror).await?;
    Ok(ok(show::push_mirror(&found.repository.name, &row)))
}

/// Adds a push mirror to a repository. With an interval, it runs for the first time at once.
#[utoipa::path(
    post, path = "",
    operation_id = "repoAddPushMirror", tag = "repository",
    request_body = api::CreatePushMirror,
    responses(
        (status = 200, body = api::PushMirror),
        (status = 400, description = "The interval is not valid."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    JsonBody(input): JsonBody<api::CreatePushMirror>,
) -> Result<JsonResponse<api::PushMirror>, ApiError> {
    let created = mirrors::create_push_mirror(&state, &caller.identity, (&owner, &name), input).await;
    let (found, row) = created.map_err(|error| ApiError::bad_request_for(error, &["interval"]))?;
    Ok(ok(show::push_mirror(&found.repository.name, &row)))
}

/// Deletes a push mirror of a repository. The copy on the other server stays.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeletePushMirror", tag = "repository",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, mirror)): MirrorPath,
) -> Result<StatusCode, ApiError> {
    mirrors::delete_push_mirror(&state, &caller.identity, (&owner, &name), &mirror).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Runs all push mirrors of a repository and waits for them. The error names those that failed.
#[utoipa::path(
    post, path = "",
    operation_id = "repoPushMirrorSync", tag = "repository",
    responses((status = 200)),
)]
pub(in crate::http) async fn sync_all(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    mirrors::sync_push_mirrors(&state, &caller.identity, (&owner, &name)).await?;
    Ok(StatusCode::OK)
}
