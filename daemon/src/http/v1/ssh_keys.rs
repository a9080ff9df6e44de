//! SSH keys of accounts.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use farrier_proto::store::{SshKey, User};
use http::StatusCode;

use super::deploy_keys::number;
use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller, SignedIn, UserScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::{FingerprintParams, PageParams},
        page::PageQuery,
        query, show,
    },
    model::identity::Identity,
    service::{
        Error,
        ssh_keys::{self, AccountKeys},
    },
};

/// Lists the SSH keys of the caller, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "userCurrentListKeys", tag = "user",
    params(PageParams, FingerprintParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::PublicKey>)),
)]
pub(in crate::http) async fn own(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = ssh_keys::own(&snapshot, &caller.identity, query::value(query, "fingerprint").as_deref()).await?;
    Ok(page(&state, &caller.identity, found, "/api/v1/user/keys", query))
}

/// Lists the SSH keys of an account, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "userListKeys", tag = "user",
    params(PageParams, FingerprintParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::PublicKey>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let fingerprint = query::value(query, "fingerprint");
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = ssh_keys::of_user(&snapshot, &caller.identity, &name, fingerprint.as_deref()).await?;
    Ok(page(&state, &caller.identity, found, &format!("/api/v1/users/{name}/keys"), query))
}

/// Returns an SSH key of the caller; administrators may request that of any account.
#[utoipa::path(
    get, path = "",
    operation_id = "userCurrentGetKey", tag = "user",
    security(("account" = [])),
    responses((status = 200, body = api::PublicKey)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::PublicKey>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (row, user) = ssh_keys::get(&snapshot, &caller.identity, number(&id)).await?;
    Ok(ok(show::public_key(&state.root_url, &caller.identity, &row, Some(&user))))
}

/// Adds an SSH key to the account of the caller.
#[utoipa::path(
    post, path = "",
    operation_id = "userCurrentPostKey", tag = "user",
    request_body = api::CreateKey,
    responses((status = 201, body = api::PublicKey)),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<UserScope>,
    JsonBody(input): JsonBody<api::CreateKey>,
) -> Result<JsonResponse<api::PublicKey>, ApiError> {
    let added = ssh_keys::create(&state, &caller.identity, &input.title, &input.key).await?;
    Ok(shown(&state, &caller.identity, &added))
}

/// Adds an SSH key to an account.
#[utoipa::path(
    post, path = "",
    operation_id = "adminCreatePublicKey", tag = "admin",
    request_body = api::CreateKey,
    responses((status = 201, body = api::PublicKey)),
)]
pub(in crate::http) async fn create_for(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(name): Path<String>,
    JsonBody(input): JsonBody<api::CreateKey>,
) -> Result<JsonResponse<api::PublicKey>, ApiError> {
    let added = ssh_keys::create_for(&state, &caller.identity, &name, &input.title, &input.key).await?;
    Ok(shown(&state, &caller.identity, &added))
}

/// Deletes an SSH key of the caller; administrators may delete that of any account.
#[utoipa::path(
    delete, path = "",
    operation_id = "userCurrentDeleteKey", tag = "user",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<UserScope>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    ssh_keys::delete(&state, &caller.identity, number(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes an SSH key of an account.
#[utoipa::path(
    delete, path = "",
    operation_id = "adminDeleteUserPublicKey", tag = "admin",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete_for(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path((name, id)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    ssh_keys::delete_for(&state, &caller.identity, &name, number(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn page(state: &AppState, viewer: &Identity, found: AccountKeys, path: &str, query: Option<&str>) -> Response {
    let page = PageQuery::of(query);
    let (rows, total) = page.cut(found.keys);
    let owner = found.shows_user.then_some(&found.user);
    let shown: Vec<_> = rows.iter().map(|row| show::public_key(&state.root_url, viewer, row, owner)).collect();
    page.response(state, path, query, total, shown)
}

fn shown(state: &AppState, viewer: &Identity, (row, user): &(SshKey, User)) -> JsonResponse<api::PublicKey> {
    created(show::public_key(&state.root_url, viewer, row, Some(user)))
}
