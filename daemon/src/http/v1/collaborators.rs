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
        page::Page,
        show,
    },
    service::{Error, repositories},
};

type Who = Path<(String, String, String)>;

/// `GET /repos/{owner}/{repo}/collaborators`
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

/// `GET /repos/{owner}/{repo}/collaborators/{user}`
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, user)): Who,
) -> Result<StatusCode, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    repositories::collaborator(&snapshot, &caller.identity, (&owner, &name), &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `PUT /repos/{owner}/{repo}/collaborators/{user}`
pub(in crate::http) async fn put(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, user)): Who,
    Input(input): Input<api::AddCollaborator>,
) -> Result<StatusCode, ApiError> {
    repositories::add_collaborator(&app, &caller.identity, (&owner, &name), &user, &input.permission).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /repos/{owner}/{repo}/collaborators/{user}`
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name, user)): Who,
) -> Result<StatusCode, ApiError> {
    repositories::remove_collaborator(&app, &caller.identity, (&owner, &name), &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /repos/{owner}/{repo}/collaborators/{user}/permission`
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
