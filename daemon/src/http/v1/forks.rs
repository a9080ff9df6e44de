//! Lists and creates forks.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
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
    service::{Error, access::Action, forks, repositories},
};

/// Lists the forks of a repository that the caller sees, newest first.
#[utoipa::path(
    get, path = "",
    operation_id = "listForks", tag = "repository",
    params(PageParams),
    responses((status = 200, body = Vec<api::Repository>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let source = repositories::find(&snapshot, &caller.identity, &owner, &name, Action::Read).await?;
    let page = PageQuery::of(query.as_deref());
    let id = source.repository.id;
    let (found, total) = repositories::forks(&snapshot, &caller.identity, id, page.skip(), page.limit).await?;
    let shown = show::repositories(&state, &caller.identity, &found).await?;
    let path = format!("{}/api/v1/repos/{}/forks", state.root_url, source.path());
    Ok((page.headers(&path, query.as_deref(), total), ok(shown)).into_response())
}

/// Forks a repository. The fork is complete when the response arrives.
#[utoipa::path(
    post, path = "",
    operation_id = "createFork", tag = "repository",
    request_body = api::CreateFork,
    responses(
        (status = 202, body = api::Repository),
        (status = 409, description = "The owner already has a fork of the repository, or a repository with this name."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    JsonBody(input): JsonBody<api::CreateFork>,
) -> Result<JsonResponse<api::Repository>, ApiError> {
    let found = forks::fork(&state, &caller.identity, &owner, &name, &input).await?;
    let shown = show::whole_repository(&state, &caller.identity, &found).await?;
    Ok(JsonResponse(StatusCode::ACCEPTED, shown))
}
