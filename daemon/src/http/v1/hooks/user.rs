//! The caller's own hooks: they hear of all the caller's repositories.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfUser, SignedIn},
        error::ApiError,
        extract::{Input, Output},
    },
    service::{Error, hooks::Place},
};

type Who = Caller<SignedIn<OfUser>>;

/// `GET /user/hooks`
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Who,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let place = Place::of_caller(&app, &caller.identity)?;
    let snapshot = app.store.read().await.map_err(Error::from)?;
    super::list(&app, &snapshot, &[place.scope()], place.target(), "/api/v1/user/hooks", query.as_deref()).await
}

/// `POST /user/hooks`
pub(in crate::http) async fn create(
    State(app): State<App>,
    caller: Who,
    Input(input): Input<api::CreateHook>,
) -> Result<Response, ApiError> {
    super::create(&app, Place::of_caller(&app, &caller.identity)?, input).await
}

/// `GET /user/hooks/{id}`
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Who,
    Path(id): Path<String>,
) -> Result<Output<api::Hook>, ApiError> {
    let place = Place::of_caller(&app, &caller.identity)?;
    let snapshot = app.store.read().await.map_err(Error::from)?;
    super::get(&app, &snapshot, place, &id).await
}

/// `PATCH /user/hooks/{id}`
pub(in crate::http) async fn edit(
    State(app): State<App>,
    caller: Who,
    Path(id): Path<String>,
    Input(input): Input<api::EditHook>,
) -> Result<Response, ApiError> {
    super::edit(&app, Place::of_caller(&app, &caller.identity)?, &id, &input).await
}

/// `DELETE /user/hooks/{id}`
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Who,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    super::delete(&app, Place::of_caller(&app, &caller.identity)?, &id).await
}
