//! Access tokens: of the caller, of an account, and the one that a request is made with.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, Needs, Nothing, OfAdmin, OfUser, SignedIn},
        error::ApiError,
        extract::{Input, Output, created, ok},
        page::Page,
        show,
    },
    service::{Error, tokens},
};

/// `GET /users/{name}/tokens`
pub(in crate::http) async fn list(
    app: State<App>,
    caller: Caller<SignedIn<OfUser>>,
    name: Path<String>,
    query: RawQuery,
) -> Result<Response, ApiError> {
    list_as(app, caller, name, query, "users").await
}

/// `GET /admin/users/{name}/tokens`
pub(in crate::http) async fn list_for(
    app: State<App>,
    caller: Caller<OfAdmin>,
    name: Path<String>,
    query: RawQuery,
) -> Result<Response, ApiError> {
    list_as(app, caller, name, query, "admin/users").await
}

async fn list_as<N: Needs>(
    State(app): State<App>,
    caller: Caller<N>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    below: &str,
) -> Result<Response, ApiError> {
    let page = Page::of(query.as_deref());
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let (rows, total) = page.cut(tokens::list(&snapshot, &caller.identity, &name).await?);
    let mut shown = Vec::with_capacity(rows.len());
    for row in &rows {
        shown.push(show::token(&snapshot, row, "").await?);
    }
    Ok(page.answer(&app, &format!("/api/v1/{below}/{name}/tokens"), query.as_deref(), total, shown))
}

/// `POST /users/{name}/tokens`
pub(in crate::http) async fn create(
    app: State<App>,
    caller: Caller<OfUser>,
    name: Path<String>,
    input: Input<api::CreateToken>,
) -> Result<Output<api::AccessToken>, ApiError> {
    create_as(app, caller, name, input).await
}

/// `POST /admin/users/{name}/tokens`
pub(in crate::http) async fn create_for(
    app: State<App>,
    caller: Caller<OfAdmin>,
    name: Path<String>,
    input: Input<api::CreateToken>,
) -> Result<Output<api::AccessToken>, ApiError> {
    create_as(app, caller, name, input).await
}

async fn create_as<N: Needs>(
    State(app): State<App>,
    caller: Caller<N>,
    Path(name): Path<String>,
    Input(input): Input<api::CreateToken>,
) -> Result<Output<api::AccessToken>, ApiError> {
    let minted = tokens::create(&app, &caller.identity, &name, &input).await;
    // The API family answers 400 where a token's name or scopes cannot be.
    let minted = minted.map_err(|error| ApiError::bad_request_for(error, &["name", "scopes", "repositories"]))?;
    let snapshot = app.store.read().await.map_err(Error::from)?;
    Ok(created(show::token(&snapshot, &minted.row, &minted.clear).await?))
}

/// `DELETE /users/{name}/tokens/{token}`
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Caller<OfUser>,
    Path((name, token)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    tokens::delete(&app, &caller.identity, &name, &token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /admin/users/{name}/tokens/{token}`
pub(in crate::http) async fn delete_for(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Path((name, token)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    tokens::delete(&app, &caller.identity, &name, &token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /token`: the token that the request is made with.
pub(in crate::http) async fn current(
    State(app): State<App>,
    caller: Caller<SignedIn<Nothing>>,
) -> Result<Output<api::CurrentToken>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let (row, user) = tokens::current(&snapshot, &caller.identity).await?;
    Ok(ok(show::current_token(&snapshot, &row, &user, app.now_ms()).await?))
}

/// `DELETE /token`: ends the token that the request is made with.
pub(in crate::http) async fn delete_current(
    State(app): State<App>,
    caller: Caller<SignedIn<Nothing>>,
) -> Result<StatusCode, ApiError> {
    tokens::delete_current(&app, &caller.identity).await?;
    Ok(StatusCode::NO_CONTENT)
}
