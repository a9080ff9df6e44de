//! Hooks of an organization. They receive the events of all its repositories.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, OrganizationScope, SignedIn},
        error::ApiError,
        extract::JsonBody,
        if_match::{Editable, IfMatch},
        openapi::parameters::{IfMatchHeader, PageParams},
    },
    service::{Error, hooks::HookOwner},
    store::Snapshot,
};

type HookCaller = Caller<SignedIn<OrganizationScope>>;

/// Returns the organization as a hook owner if the caller may manage its hooks, and the snapshot in which that was
/// checked.
async fn authorize(state: &AppState, caller: &HookCaller, name: &str) -> Result<(Snapshot, HookOwner), ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let hook_owner = HookOwner::of_org(state, &snapshot, &caller.identity, name).await?;
    Ok((snapshot, hook_owner))
}

/// Lists the hooks of an organization.
#[utoipa::path(
    get, path = "/orgs/{org}/hooks",
    operation_id = "orgListHooks", tag = "organization",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Hook>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: HookCaller,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let (snapshot, hook_owner) = authorize(&state, &caller, &name).await?;
    let path = format!("/api/v1/orgs/{name}/hooks");
    super::list(&state, &snapshot, &[hook_owner.scope()], hook_owner.target(), &path, query.as_deref()).await
}

/// Creates a hook of an organization.
#[utoipa::path(
    post, path = "/orgs/{org}/hooks",
    operation_id = "orgCreateHook", tag = "organization",
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
    Path(name): Path<String>,
    JsonBody(input): JsonBody<api::CreateHook>,
) -> Result<Response, ApiError> {
    let (_, hook_owner) = authorize(&state, &caller, &name).await?;
    super::create(&state, hook_owner, input).await
}

/// Returns a hook of an organization.
#[utoipa::path(
    get, path = "/orgs/{org}/hooks/{id}",
    operation_id = "orgGetHook", tag = "organization",
    security(("account" = [])),
    responses((status = 200, body = api::Hook)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: HookCaller,
    Path((name, id)): Path<(String, String)>,
) -> Result<Editable<api::Hook>, ApiError> {
    let (snapshot, hook_owner) = authorize(&state, &caller, &name).await?;
    super::get(&state, &snapshot, hook_owner, &id).await
}

/// Changes a hook of an organization.
#[utoipa::path(
    patch, path = "/orgs/{org}/hooks/{id}",
    operation_id = "orgEditHook", tag = "organization",
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
    Path((name, id)): Path<(String, String)>,
    IfMatch(expected): IfMatch,
    JsonBody(input): JsonBody<api::EditHook>,
) -> Result<Response, ApiError> {
    let (_, hook_owner) = authorize(&state, &caller, &name).await?;
    super::edit(&state, hook_owner, &id, &input, &expected).await
}

/// Deletes a hook of an organization.
#[utoipa::path(
    delete, path = "/orgs/{org}/hooks/{id}",
    operation_id = "orgDeleteHook", tag = "organization",
    params(IfMatchHeader),
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: HookCaller,
    Path((name, id)): Path<(String, String)>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    let (_, hook_owner) = authorize(&state, &caller, &name).await?;
    super::delete(&state, hook_owner, &id, &expected).await
}
