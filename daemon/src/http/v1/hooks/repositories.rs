//! Hooks of a repository.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, SignedIn},
        error::ApiError,
        extract::JsonBody,
        if_match::{Editable, IfMatch},
        openapi::parameters::{IfMatchHeader, PageParams},
    },
    service::{Error, hooks::HookOwner},
    store::Snapshot,
};

type HookCaller = Caller<SignedIn<RepositoryScope>>;

/// Returns the repository as a hook owner if the caller may manage its hooks, and the snapshot in which that was
/// checked.
async fn authorize(
    state: &AppState,
    caller: &HookCaller,
    owner: &str,
    name: &str,
) -> Result<(Snapshot, HookOwner), ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let hook_owner = HookOwner::of_repository(state, &snapshot, &caller.identity, owner, name).await?;
    Ok((snapshot, hook_owner))
}

/// Lists the hooks of a repository.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/hooks",
    operation_id = "repoListHooks", tag = "repository",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Hook>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: HookCaller,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let (snapshot, hook_owner) = authorize(&state, &caller, &owner, &name).await?;
    let path = format!("/api/v1/repos/{owner}/{name}/hooks");
    super::list(&state, &snapshot, &[hook_owner.scope()], hook_owner.target(), &path, query.as_deref()).await
}

/// Creates a hook of a repository.
#[utoipa::path(
    post, path = "/repos/{owner}/{repo}/hooks",
    operation_id = "repoCreateHook", tag = "repository",
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
    Path((owner, name)): Path<(String, String)>,
    JsonBody(input): JsonBody<api::CreateHook>,
) -> Result<Response, ApiError> {
    let (_, hook_owner) = authorize(&state, &caller, &owner, &name).await?;
    super::create(&state, hook_owner, input).await
}

/// Returns a hook of a repository.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/hooks/{id}",
    operation_id = "repoGetHook", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::Hook)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: HookCaller,
    Path((owner, name, id)): Path<(String, String, String)>,
) -> Result<Editable<api::Hook>, ApiError> {
    let (snapshot, hook_owner) = authorize(&state, &caller, &owner, &name).await?;
    super::get(&state, &snapshot, hook_owner, &id).await
}

/// Changes a hook of a repository.
#[utoipa::path(
    patch, path = "/repos/{owner}/{repo}/hooks/{id}",
    operation_id = "repoEditHook", tag = "repository",
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
    Path((owner, name, id)): Path<(String, String, String)>,
    IfMatch(expected): IfMatch,
    JsonBody(input): JsonBody<api::EditHook>,
) -> Result<Response, ApiError> {
    let (_, hook_owner) = authorize(&state, &caller, &owner, &name).await?;
    super::edit(&state, hook_owner, &id, &input, &expected).await
}

/// Deletes a hook of a repository.
#[utoipa::path(
    delete, path = "/repos/{owner}/{repo}/hooks/{id}",
    operation_id = "repoDeleteHook", tag = "repository",
    params(IfMatchHeader),
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: HookCaller,
    Path((owner, name, id)): Path<(String, String, String)>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    let (_, hook_owner) = authorize(&state, &caller, &owner, &name).await?;
    super::delete(&state, hook_owner, &id, &expected).await
}
