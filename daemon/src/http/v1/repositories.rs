//! Repositories, as far as runs and artifacts need them.

use axum::extract::{Path, State};
use farrier_common::api;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfAdmin, OfRepository, OfUserRepository},
        error::ApiError,
        extract::{Input, Output, created, ok},
        show,
    },
    service::{
        access::Action,
        repositories::{self, For},
    },
};

/// `GET /repos/{owner}/{repo}`
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Output<api::Repository>, ApiError> {
    let snapshot = app.store.read().await.map_err(crate::service::Error::from)?;
    let found = repositories::find(&snapshot, &caller.identity, &owner, &name, Action::Read).await?;
    Ok(ok(show::repository(&app, &caller.identity, &found)))
}

/// `POST /user/repos`
pub(in crate::http) async fn create_own(
    State(app): State<App>,
    caller: Caller<OfUserRepository>,
    Input(input): Input<api::CreateRepository>,
) -> Result<Output<api::Repository>, ApiError> {
    let made = repositories::create(&app, &caller.identity, For::Caller, input).await?;
    Ok(created(show::repository(&app, &caller.identity, &made)))
}

/// `POST /admin/users/{name}/repos`
pub(in crate::http) async fn create_for(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Path(owner): Path<String>,
    Input(input): Input<api::CreateRepository>,
) -> Result<Output<api::Repository>, ApiError> {
    let made = repositories::create(&app, &caller.identity, For::Anyone(&owner), input).await?;
    Ok(created(show::repository(&app, &caller.identity, &made)))
}
