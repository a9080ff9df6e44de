//! OpenPGP keys of accounts.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::{StatusCode, header};

use super::deploy_keys::number;
use crate::{
    http::{
        AppState,
        auth::{Caller, SignedIn, UserScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::PageParams,
        page::PageQuery,
        show,
    },
    service::{
        Error,
        gpg_keys::{self, AccountGpgKeys},
    },
};

/// Lists the OpenPGP keys of the caller, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "userCurrentListGPGKeys", tag = "user",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::GpgKey>)),
)]
pub(in crate::http) async fn own(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = gpg_keys::own(&snapshot, &caller.identity).await?;
    Ok(page(&state, found, "/api/v1/user/gpg_keys", query.as_deref()))
}

/// Lists the OpenPGP keys of an account, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "userListGPGKeys", tag = "user",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::GpgKey>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = gpg_keys::of_user(&snapshot, &caller.identity, &name).await?;
    Ok(page(&state, found, &format!("/api/v1/users/{name}/gpg_keys"), query.as_deref()))
}

/// Returns an OpenPGP key of the caller.
#[utoipa::path(
    get, path = "",
    operation_id = "userCurrentGetGPGKey", tag = "user",
    security(("account" = [])),
    responses((status = 200, body = api::GpgKey)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::GpgKey>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (row, user) = gpg_keys::get(&snapshot, &caller.identity, number(&id)).await?;
    Ok(ok(show::gpg_key(&row, &user)))
}

/// Adds an OpenPGP key to the account of the caller.
#[utoipa::path(
    post, path = "",
    operation_id = "userCurrentPostGPGKey", tag = "user",
    request_body = api::CreateGpgKey,
    responses((status = 201, body = api::GpgKey)),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<UserScope>,
    JsonBody(input): JsonBody<api::CreateGpgKey>,
) -> Result<JsonResponse<api::GpgKey>, ApiError> {
    let (row, user) = gpg_keys::create(&state, &caller.identity, &input).await?;
    Ok(created(show::gpg_key(&row, &user)))
}

/// Deletes an OpenPGP key of the caller.
#[utoipa::path(
    delete, path = "",
    operation_id = "userCurrentDeleteGPGKey", tag = "user",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<UserScope>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    gpg_keys::delete(&state, &caller.identity, number(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the token that proves the possession of a key when it is signed with it. It changes every ten minutes.
#[utoipa::path(
    get, path = "",
    operation_id = "getVerificationToken", tag = "user",
    security(("account" = [])),
    responses((status = 200, body = String, content_type = "text/plain")),
)]
pub(in crate::http) async fn token(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
) -> Result<Response, ApiError> {
    let token = gpg_keys::token(&state, &caller.identity)?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], token).into_response())
}

/// Records that the caller has the private key of one of its OpenPGP keys.
#[utoipa::path(
    post, path = "",
    operation_id = "userVerifyGPGKey", tag = "user",
    request_body = api::VerifyGpgKey,
    responses((status = 200, body = api::GpgKey)),
)]
pub(in crate::http) async fn verify(
    State(state): State<AppState>,
    caller: Caller<UserScope>,
    JsonBody(input): JsonBody<api::VerifyGpgKey>,
) -> Result<JsonResponse<api::GpgKey>, ApiError> {
    let (row, user) = gpg_keys::verify(&state, &caller.identity, &input).await?;
    Ok(ok(show::gpg_key(&row, &user)))
}

fn page(state: &AppState, found: AccountGpgKeys, path: &str, query: Option<&str>) -> Response {
    let page = PageQuery::of(query);
    let AccountGpgKeys { user, keys } = found;
    let (rows, total) = page.cut(keys);
    let shown: Vec<_> = rows.iter().map(|row| show::gpg_key(row, &user)).collect();
    page.response(state, path, query, total, shown)
}
