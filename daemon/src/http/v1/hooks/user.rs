//! The caller's own hooks. They receive the events of all the caller's repositories.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, SignedIn, UserScope},
        error::ApiError,
        extract::JsonBody,
        if_match::{Editable, IfMatch},
        openapi::parameters::{IfMatchHeader, PageParams},
    },
    service::{Error, hooks::HookOwner},
};

type HookCaller = Caller<SignedIn<UserScope>>;

/// Lists the hooks of the caller.
#[utoipa::path(
    get, path = "/user/hooks",
    operation_id = "userListHooks", tag = "user",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Hook>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: HookCaller,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let hook_owner = HookOwner::of_caller(&state, &caller.identity)?;
    let snapshot = state.store.read().await.map_err(Error::from)?;
    super::list(&state, &snapshot, &[hook_owner.scope()], hook_owner.target(), "/api/v1/user/hooks", query.as_deref())
        .await
}

/// Creates a hook of the caller.
#[utoipa::path(
    post, path = "/user/hooks",
    operation_id = "userCreateHook", tag = "user",
    request_body = api::CreateHook,
    responses(
        (status = 201, body = api::Hook),
        (status = 409, description = "The maximum number of hooks is reached."),
        (status = 400, description = "A chat channel cannot have this name."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: HookCaller,
    JsonBody(input): JsonBody<api::CreateHook>,
) -> Result<Response, ApiError> {
    super::create(&state, HookOwner::of_caller(&state, &caller.identity)?, input).await
}

/// Returns a hook of the caller.
#[utoipa::path(
    get, path = "/user/hooks/{id}",
    operation_id = "userGetHook", tag = "user",
    security(("account" = [])),
    responses((status = 200, body = api::Hook)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: HookCaller,
    Path(id): Path<String>,
) -> Result<Editable<api::Hook>, ApiError> {
    let hook_owner = HookOwner::of_caller(&state, &caller.identity)?;
    let snapshot = state.store.read().await.map_err(Error::from)?;
    super::get(&state, &snapshot, hook_owner, &id).await
}

/// Changes a hook of the caller.
#[utoipa::path(
    patch, path = "/user/hooks/{id}",
    operation_id = "userEditHook", tag = "user",
    params(IfMatchHeader),
    request_body = api::EditHook,
    responses(
        (status = 200, body = api::Hook),
        (status = 400, description = "A chat channel cannot have this name."),
    ),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: HookCaller,
    Path(id): Path<String>,
    IfMatch(expected): IfMatch,
    JsonBody(input): JsonBody<api::EditHook>,
) -> Result<Response, ApiError> {
    super::edit(&state, HookOwner::of_caller(&state, &caller.identity)?, &id, &input, &expected).await
}

/// Deletes a hook of the caller.
#[utoipa::path(
    delete, path = "/user/hooks/{id}",
    operation_id = "userDeleteHook", tag = "user",
    params(IfMatchHeader),
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: HookCaller,
    Path(id): Path<String>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    super::delete(&state, HookOwner::of_caller(&state, &caller.identity)?, &id, &expected).await
}
