//! Collaborators of a repository.

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
    model::identity::Identity,
    service::{Error, access::Action, repositories},
};

type CollaboratorPath = Path<(String, String, String)>;

/// Lists the collaborators of a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListCollaborators", tag = "repository",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::User>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (users, total) =
        repositories::collaborators(&snapshot, &caller.identity, &owner, &name, page.skip(), page.limit).await?;
    let shown: Vec<_> = users.iter().map(|user| show::user(&state.root_url, &caller.identity, user)).collect();
    let address = format!("{}/api/v1/repos/{owner}/{name}/collaborators", state.root_url);
    Ok((page.headers(&address, query.as_deref(), total), ok(shown)).into_response())
}

/// Lists the accounts that may write to a repository, by name: its owner or members, and collaborators.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetAssignees", tag = "repository",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::User>)),
)]
pub(in crate::http) async fn assignees(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    people(&state, &caller.identity, (&owner, &name), Action::Write, "assignees", query.as_deref()).await
}

/// Lists the accounts that may read a repository, by name: its owner or members, and collaborators.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetReviewers", tag = "repository",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::User>)),
)]
pub(in crate::http) async fn reviewers(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    people(&state, &caller.identity, (&owner, &name), Action::Read, "reviewers", query.as_deref()).await
}

async fn people(
    state: &AppState,
    identity: &Identity,
    (owner, name): (&str, &str),
    action: Action,
    list: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query);
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (users, total) = page.cut(repositories::people(&snapshot, identity, (owner, name), action).await?);
    let shown: Vec<_> = users.iter().map(|user| show::user(&state.root_url, identity, user)).collect();
    Ok(page.response(state, &format!("/api/v1/repos/{owner}/{name}/{list}"), query, total, shown))
}

/// Returns 204 if an account is a collaborator of a repository, else 404.
#[utoipa::path(
    get, path = "",
    operation_id = "repoCheckCollaborator", tag = "repository",
    security(("account" = [])),
    responses((status = 204), (status = 422, description = "The account does not exist.")),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, user)): CollaboratorPath,
) -> Result<StatusCode, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    repositories::collaborator(&snapshot, &caller.identity, (&owner, &name), &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Adds a collaborator to a repository, or changes the permission of one.
#[utoipa::path(
    put, path = "",
    operation_id = "repoAddCollaborator", tag = "repository",
    request_body = api::AddCollaborator,
    responses((status = 204)),
)]
pub(in crate::http) async fn put(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, user)): CollaboratorPath,
    JsonBody(input): JsonBody<api::AddCollaborator>,
) -> Result<StatusCode, ApiError> {
    repositories::add_collaborator(&state, &caller.identity, (&owner, &name), &user, &input.permission).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a collaborator from a repository.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteCollaborator", tag = "repository",
    responses((status = 204), (status = 422, description = "The account owns the repository.")),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, user)): CollaboratorPath,
) -> Result<StatusCode, ApiError> {
    repositories::remove_collaborator(&state, &caller.identity, (&owner, &name), &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the permission of an account in a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetRepoPermissions", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::CollaboratorPermission)),
)]
pub(in crate::http) async fn permission(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, user)): CollaboratorPath,
) -> Result<JsonResponse<api::CollaboratorPermission>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::permission_of(&snapshot, &caller.identity, (&owner, &name), &user).await?;
    Ok(ok(api::CollaboratorPermission {
        permission: found.effective.into(),
        role_name: found.effective.into(),
        farrier_direct: found.direct.into(),
        user: show::user(&state.root_url, &caller.identity, &found.user),
    }))
}
