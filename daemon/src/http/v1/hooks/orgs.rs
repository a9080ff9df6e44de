//! Hooks of an organisation: they hear of all its repositories.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfOrganization, SignedIn},
        error::ApiError,
        extract::{Input, Output},
    },
    service::{Error, hooks::Place},
    store::Snapshot,
};

type Who = Caller<SignedIn<OfOrganization>>;

/// The place, if the caller may manage its hooks, and the snapshot that says so.
async fn scene(app: &App, caller: &Who, name: &str) -> Result<(Snapshot, Place), ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let place = Place::of_org(app, &snapshot, &caller.identity, name).await?;
    Ok((snapshot, place))
}

/// `GET /orgs/{org}/hooks`
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Who,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let (snapshot, place) = scene(&app, &caller, &name).await?;
    let path = format!("/api/v1/orgs/{name}/hooks");
    super::list(&app, &snapshot, &[place.scope()], place.target(), &path, query.as_deref()).await
}

/// `POST /orgs/{org}/hooks`
pub(in crate::http) async fn create(
    State(app): State<App>,
    caller: Who,
    Path(name): Path<String>,
    Input(input): Input<api::CreateHook>,
) -> Result<Response, ApiError> {
    let (_, place) = scene(&app, &caller, &name).await?;
    super::create(&app, place, input).await
}

/// `GET /orgs/{org}/hooks/{id}`
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Who,
    Path((name, id)): Path<(String, String)>,
) -> Result<Output<api::Hook>, ApiError> {
    let (snapshot, place) = scene(&app, &caller, &name).await?;
    super::get(&app, &snapshot, place, &id).await
}

/// `PATCH /orgs/{org}/hooks/{id}`
pub(in crate::http) async fn edit(
    State(app): State<App>,
    caller: Who,
    Path((name, id)): Path<(String, String)>,
    Input(input): Input<api::EditHook>,
) -> Result<Response, ApiError> {
    let (_, place) = scene(&app, &caller, &name).await?;
    super::edit(&app, place, &id, &input).await
}

/// `DELETE /orgs/{org}/hooks/{id}`
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Who,
    Path((name, id)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let (_, place) = scene(&app, &caller, &name).await?;
    super::delete(&app, place, &id).await
}
