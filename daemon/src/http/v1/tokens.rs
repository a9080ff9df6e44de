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
        auth::{Caller, Nothing, OfAdmin, OfUser, RequiredScopes, SignedIn},
        error::ApiError,
        extract::{Input, Output, created, ok},
        openapi::parameters::Paging,
        page::Page,
        show,
    },
    service::{Error, tokens},
};

/// Access tokens of an account, without their clear form, newest first.
#[utoipa::path(
    get, path = "/users/{name}/tokens",
    operation_id = "userGetTokens", tag = "user",
    params(Paging),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::AccessToken>)),
)]
pub(in crate::http) async fn list(
    app: State<App>,
    caller: Caller<SignedIn<OfUser>>,
    name: Path<String>,
    query: RawQuery,
) -> Result<Response, ApiError> {
    list_as(app, caller, name, query, "users").await
}

/// Access tokens of an account, without their clear form, newest first.
#[utoipa::path(
    get, path = "/admin/users/{name}/tokens",
    operation_id = "adminListUserAccessTokens", tag = "admin",
    params(Paging),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::AccessToken>)),
)]
pub(in crate::http) async fn list_for(
    app: State<App>,
    caller: Caller<OfAdmin>,
    name: Path<String>,
    query: RawQuery,
) -> Result<Response, ApiError> {
    list_as(app, caller, name, query, "admin/users").await
}

async fn list_as<N: RequiredScopes>(
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

/// Makes an access token, which is shown this once.
#[utoipa::path(
    post, path = "/users/{name}/tokens",
    operation_id = "userCreateToken", tag = "user",
    request_body = api::CreateToken,
    responses(
        (status = 201, body = api::AccessToken),
        (status = 400, description = "The name is used, or a scope or a repository cannot be used."),
    ),
)]
pub(in crate::http) async fn create(
    app: State<App>,
    caller: Caller<OfUser>,
    name: Path<String>,
    input: Input<api::CreateToken>,
) -> Result<Output<api::AccessToken>, ApiError> {
    create_as(app, caller, name, input).await
}

/// Makes an access token of an account, which is shown this once.
#[utoipa::path(
    post, path = "/admin/users/{name}/tokens",
    operation_id = "adminCreateUserAccessToken", tag = "admin",
    request_body = api::CreateToken,
    responses(
        (status = 201, body = api::AccessToken),
        (status = 400, description = "The name is used, or a scope or a repository cannot be used."),
    ),
)]
pub(in crate::http) async fn create_for(
    app: State<App>,
    caller: Caller<OfAdmin>,
    name: Path<String>,
    input: Input<api::CreateToken>,
) -> Result<Output<api::AccessToken>, ApiError> {
    create_as(app, caller, name, input).await
}

async fn create_as<N: RequiredScopes>(
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

/// Ends an access token.
#[utoipa::path(
    delete, path = "/users/{name}/tokens/{token}",
    operation_id = "userDeleteAccessToken", tag = "user",
    responses((status = 204), (status = 422, description = "Several tokens have that name.")),
)]
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Caller<OfUser>,
    Path((name, token)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    tokens::delete(&app, &caller.identity, &name, &token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends an access token of an account.
#[utoipa::path(
    delete, path = "/admin/users/{name}/tokens/{token}",
    operation_id = "adminDeleteUserAccessToken", tag = "admin",
    responses((status = 204), (status = 422, description = "Several tokens have that name.")),
)]
pub(in crate::http) async fn delete_for(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Path((name, token)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    tokens::delete(&app, &caller.identity, &name, &token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The token that the request is made with.
#[utoipa::path(
    get, path = "/token",
    operation_id = "userGetCurrentToken", tag = "user",
    security(("account" = [])),
    responses((status = 200, body = api::CurrentToken)),
)]
pub(in crate::http) async fn current(
    State(app): State<App>,
    caller: Caller<SignedIn<Nothing>>,
) -> Result<Output<api::CurrentToken>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let (row, user) = tokens::current(&snapshot, &caller.identity).await?;
    Ok(ok(show::current_token(&snapshot, &row, &user, app.now_ms()).await?))
}

/// Ends the token that the request is made with.
#[utoipa::path(
    delete, path = "/token",
    operation_id = "userDeleteCurrentToken", tag = "user",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete_current(
    State(app): State<App>,
    caller: Caller<SignedIn<Nothing>>,
) -> Result<StatusCode, ApiError> {
    tokens::delete_current(&app, &caller.identity).await?;
    Ok(StatusCode::NO_CONTENT)
}
