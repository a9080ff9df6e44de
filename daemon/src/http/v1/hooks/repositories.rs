//! Hooks of a repository.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository, SignedIn},
        error::ApiError,
        extract::Input,
        if_match::{Editable, IfMatch},
        openapi::parameters::{IfMatchHeader, Paging},
    },
    service::{Error, hooks::HookOwner},
    store::Snapshot,
};

type Who = Caller<SignedIn<OfRepository>>;

/// The place, if the caller may manage its hooks, and the snapshot that says so.
async fn scene(app: &App, caller: &Who, owner: &str, name: &str) -> Result<(Snapshot, HookOwner), ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let hook_owner = HookOwner::of_repository(app, &snapshot, &caller.identity, owner, name).await?;
    Ok((snapshot, hook_owner))
}

/// Hooks of a repository.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/hooks",
    operation_id = "repoListHooks", tag = "repository",
    params(Paging),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Hook>)),
)]
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Who,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let (snapshot, hook_owner) = scene(&app, &caller, &owner, &name).await?;
    let path = format!("/api/v1/repos/{owner}/{name}/hooks");
    super::list(&app, &snapshot, &[hook_owner.scope()], hook_owner.target(), &path, query.as_deref()).await
}

/// Makes a hook of a repository.
#[utoipa::path(
    post, path = "/repos/{owner}/{repo}/hooks",
    operation_id = "repoCreateHook", tag = "repository",
    request_body = api::CreateHook,
    responses(
        (status = 201, body = api::Hook),
        (status = 409, description = "The place has as many hooks as it can."),
        (status = 400, description = "A channel cannot be called so."),
    ),
)]
pub(in crate::http) async fn create(
    State(app): State<App>,
    caller: Who,
    Path((owner, name)): Path<(String, String)>,
    Input(input): Input<api::CreateHook>,
) -> Result<Response, ApiError> {
    let (_, hook_owner) = scene(&app, &caller, &owner, &name).await?;
    super::create(&app, hook_owner, input).await
}

/// A hook of a repository.
#[utoipa::path(
    get, path = "/repos/{owner}/{repo}/hooks/{id}",
    operation_id = "repoGetHook", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::Hook)),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Who,
    Path((owner, name, id)): Path<(String, String, String)>,
) -> Result<Editable<api::Hook>, ApiError> {
    let (snapshot, hook_owner) = scene(&app, &caller, &owner, &name).await?;
    super::get(&app, &snapshot, hook_owner, &id).await
}

/// Changes a hook of a repository.
#[utoipa::path(
    patch, path = "/repos/{owner}/{repo}/hooks/{id}",
    operation_id = "repoEditHook", tag = "repository",
    params(IfMatchHeader),
    request_body = api::EditHook,
    responses(
        (status = 200, body = api::Hook),
        (status = 400, description = "A channel cannot be called so."),
    ),
)]
pub(in crate::http) async fn edit(
    State(app): State<App>,
    caller: Who,
    Path((owner, name, id)): Path<(String, String, String)>,
    IfMatch(expected): IfMatch,
    Input(input): Input<api::EditHook>,
) -> Result<Response, ApiError> {
    let (_, hook_owner) = scene(&app, &caller, &owner, &name).await?;
    super::edit(&app, hook_owner, &id, &input, &expected).await
}

/// Removes a hook of a repository.
#[utoipa::path(
    delete, path = "/repos/{owner}/{repo}/hooks/{id}",
    operation_id = "repoDeleteHook", tag = "repository",
    params(IfMatchHeader),
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Who,
    Path((owner, name, id)): Path<(String, String, String)>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    let (_, hook_owner) = scene(&app, &caller, &owner, &name).await?;
    super::delete(&app, hook_owner, &id, &expected).await
}
