//! Who works on a repository beside its owner.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository},
        error::ApiError,
        extract::{Input, Output, ok},
        openapi::parameters::Paging,
        page::Page,
        show,
    },
    service::{Error, repositories},
};

type Who = Path<(String, String, String)>;

/// Who works on a repository beside its owner.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/collaborators",
    operation_id = "repoListCollaborators", tag = "repository",
    params(Paging),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::User>)),
)]
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = Page::of(query.as_deref());
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let (users, total) =
        repositories::collaborators(&snapshot, &caller.identity, &owner, &name, page.skip(), page.limit).await?;
    let shown: Vec<_> = users.iter().map(|user| show::user(&app, &caller.identity, user)).collect();
    let address = format!("{}/api/v1/repos/{owner}/{name}/collaborators", app.root_url);
    Ok((page.headers(&address, query.as_deref(), total), ok(shown)).into_response())
}

/// Whether somebody works on a repository: 204 or 404.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/collaborators/{user}",
    operation_id = "repoCheckCollaborator", tag = "repository",
    security(("account" = [])),
    responses((status = 204), (status = 422, description = "There is no such account.")),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, user)): Who,
) -> Result<StatusCode, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    repositories::collaborator(&snapshot, &caller.identity, (&owner, &name), &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lets somebody work on a repository, or changes how.
#[utoipa::path(
    put, path = "/repos/{owner}/{repo}/collaborators/{user}",
    operation_id = "repoAddCollaborator", tag = "repository",
    request_body = api::AddCollaborator,
    responses((status = 204)),
)]
pub(in crate::http) async fn put(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, user)): Who,
    Input(input): Input<api::AddCollaborator>,
) -> Result<StatusCode, ApiError> {
    repositories::add_collaborator(&app, &caller.identity, (&owner, &name), &user, &input.permission).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends that somebody works on a repository.
#[utoipa::path(
    delete, path = "/repos/{owner}/{repo}/collaborators/{user}",
    operation_id = "repoDeleteCollaborator", tag = "repository",
    responses((status = 204), (status = 422, description = "The account owns the repository.")),
)]
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, user)): Who,
) -> Result<StatusCode, ApiError> {
    repositories::remove_collaborator(&app, &caller.identity, (&owner, &name), &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What somebody may do with a repository.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/collaborators/{user}/permission",
    operation_id = "repoGetRepoPermissions", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::CollaboratorPermission)),
)]
pub(in crate::http) async fn permission(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, user)): Who,
) -> Result<Output<api::CollaboratorPermission>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let (word, user) = repositories::permission_of(&snapshot, &caller.identity, (&owner, &name), &user).await?;
    Ok(ok(api::CollaboratorPermission {
        permission: word.into(),
        role_name: word.into(),
        user: show::user(&app, &caller.identity, &user),
    }))
}
