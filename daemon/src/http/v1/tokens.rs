//! Access tokens: the caller's, those of an account, and the token of the current request.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller, NoScope, RequiredScopes, SignedIn, UserScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::PageParams,
        page::PageQuery,
        show,
    },
    service::{Error, tokens},
};

/// Lists the access tokens of an account, newest first, without the tokens themselves.
#[utoipa::path(
    get, path = "",
    operation_id = "userGetTokens", tag = "user",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::AccessToken>)),
)]
pub(in crate::http) async fn list(
    state: State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    name: Path<String>,
    query: RawQuery,
) -> Result<Response, ApiError> {
    list_as(state, caller, name, query, "users").await
}

/// Lists the access tokens of an account, newest first, without the tokens themselves.
#[utoipa::path(
    get, path = "",
    operation_id = "adminListUserAccessTokens", tag = "admin",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::AccessToken>)),
)]
pub(in crate::http) async fn list_for(
    state: State<AppState>,
    caller: Caller<AdminScope>,
    name: Path<String>,
    query: RawQuery,
) -> Result<Response, ApiError> {
    list_as(state, caller, name, query, "admin/users").await
}

async fn list_as<N: RequiredScopes>(
    State(state): State<AppState>,
    caller: Caller<N>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    prefix: &str,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (rows, total) = page.cut(tokens::list(&snapshot, &caller.identity, &name).await?);
    let mut shown = Vec::with_capacity(rows.len());
    for row in &rows {
        shown.push(show::token(&snapshot, row, "", state.now_ms()).await?);
    }
    Ok(page.response(&state, &format!("/api/v1/{prefix}/{name}/tokens"), query.as_deref(), total, shown))
}

/// Creates an access token. Only this response contains it.
#[utoipa::path(
    post, path = "",
    operation_id = "userCreateToken", tag = "user",
    request_body = api::CreateToken,
    responses(
        (status = 201, body = api::AccessToken),
        (status = 400, description = "The name is taken, or a scope or a repository is not valid."),
    ),
)]
pub(in crate::http) async fn create(
    state: State<AppState>,
    caller: Caller<UserScope>,
    name: Path<String>,
    input: JsonBody<api::CreateToken>,
) -> Result<JsonResponse<api::AccessToken>, ApiError> {
    create_as(state, caller, name, input).await
}

/// Creates an access token for an account. Only this response contains it.
#[utoipa::path(
    post, path = "",
    operation_id = "adminCreateUserAccessToken", tag = "admin",
    request_body = api::CreateToken,
    responses(
        (status = 201, body = api::AccessToken),
        (status = 400, description = "The name is taken, or a scope or a repository is not valid."),
    ),
)]
pub(in crate::http) async fn create_for(
    state: State<AppState>,
    caller: Caller<AdminScope>,
    name: Path<String>,
    input: JsonBody<api::CreateToken>,
) -> Result<JsonResponse<api::AccessToken>, ApiError> {
    create_as(state, caller, name, input).await
}

async fn create_as<N: RequiredScopes>(
    State(state): State<AppState>,
    caller: Caller<N>,
    Path(name): Path<String>,
    JsonBody(input): JsonBody<api::CreateToken>,
) -> Result<JsonResponse<api::AccessToken>, ApiError> {
    let created_token = tokens::create(&state, &caller.identity, &name, &input).await;
    // Gitea-family clients expect 400 for these fields.
    let token = created_token.map_err(|error| ApiError::bad_request_for(error, &["name", "scopes", "repositories"]))?;
    let snapshot = state.store.read().await.map_err(Error::from)?;
    Ok(created(show::token(&snapshot, &token.row, &token.clear, state.now_ms()).await?))
}

/// Deletes an access token.
#[utoipa::path(
    delete, path = "",
    operation_id = "userDeleteAccessToken", tag = "user",
    responses((status = 204), (status = 422, description = "Several tokens have this name.")),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<UserScope>,
    Path((name, token)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    tokens::delete(&state, &caller.identity, &name, &token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes an access token of an account.
#[utoipa::path(
    delete, path = "",
    operation_id = "adminDeleteUserAccessToken", tag = "admin",
    responses((status = 204), (status = 422, description = "Several tokens have this name.")),
)]
pub(in crate::http) async fn delete_for(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path((name, token)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    tokens::delete(&state, &caller.identity, &name, &token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the token of the current request.
#[utoipa::path(
    get, path = "",
    operation_id = "userGetCurrentToken", tag = "user",
    security(("account" = [])),
    responses((status = 200, body = api::CurrentToken)),
)]
pub(in crate::http) async fn current(
    State(state): State<AppState>,
    caller: Caller<SignedIn<NoScope>>,
) -> Result<JsonResponse<api::CurrentToken>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (row, user) = tokens::current(&snapshot, &caller.identity).await?;
    Ok(ok(show::current_token(&snapshot, &row, &user, state.now_ms()).await?))
}

/// Deletes the token of the current request.
#[utoipa::path(
    delete, path = "",
    operation_id = "userDeleteCurrentToken", tag = "user",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete_current(
    State(state): State<AppState>,
    caller: Caller<SignedIn<NoScope>>,
) -> Result<StatusCode, ApiError> {
    tokens::delete_current(&state, &caller.identity).await?;
    Ok(StatusCode::NO_CONTENT)
}
