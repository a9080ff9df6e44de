//! Hooks of a repository.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository, SignedIn},
        error::ApiError,
        extract::{Input, Output},
    },
    service::{Error, hooks::Place},
    store::Snapshot,
};

type Who = Caller<SignedIn<OfRepository>>;

/// The place, if the caller may manage its hooks, and the snapshot that says so.
async fn scene(app: &App, caller: &Who, owner: &str, name: &str) -> Result<(Snapshot, Place), ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let place = Place::of_repository(app, &snapshot, &caller.identity, owner, name).await?;
    Ok((snapshot, place))
}

/// `GET /repos/{owner}/{repo}/hooks`
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Who,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let (snapshot, place) = scene(&app, &caller, &owner, &name).await?;
    let path = format!("/api/v1/repos/{owner}/{name}/hooks");
    super::list(&app, &snapshot, &[place.scope()], place.target(), &path, query.as_deref()).await
}

/// `POST /repos/{owner}/{repo}/hooks`
pub(in crate::http) async fn create(
    State(app): State<App>,
    caller: Who,
    Path((owner, name)): Path<(String, String)>,
    Input(input): Input<api::CreateHook>,
) -> Result<Response, ApiError> {
    let (_, place) = scene(&app, &caller, &owner, &name).await?;
    super::create(&app, place, input).await
}

/// `GET /repos/{owner}/{repo}/hooks/{id}`
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Who,
    Path((owner, name, id)): Path<(String, String, String)>,
) -> Result<Output<api::Hook>, ApiError> {
    let (snapshot, place) = scene(&app, &caller, &owner, &name).await?;
    super::get(&app, &snapshot, place, &id).await
}

/// `PATCH /repos/{owner}/{repo}/hooks/{id}`
pub(in crate::http) async fn edit(
    State(app): State<App>,
    caller: Who,
    Path((owner, name, id)): Path<(String, String, String)>,
    Input(input): Input<api::EditHook>,
) -> Result<Response, ApiError> {
    let (_, place) = scene(&app, &caller, &owner, &name).await?;
    super::edit(&app, place, &id, &input).await
}

/// `DELETE /repos/{owner}/{repo}/hooks/{id}`
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Who,
    Path((owner, name, id)): Path<(String, String, String)>,
) -> Result<StatusCode, ApiError> {
    let (_, place) = scene(&app, &caller, &owner, &name).await?;
    super::delete(&app, place, &id).await
}
