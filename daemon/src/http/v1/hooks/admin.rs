//! Hooks of administrators: system hooks, and default hooks, which are copied into new repositories.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use farrier_proto::store::HookScope;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
        if_match::{Editable, IfMatch},
        openapi::parameters::{AdminHookParams, IfMatchHeader, PageParams},
        query, show,
    },
    service::{
        Error,
        hooks::{self, HookOwner},
    },
};

/// Lists the hooks of administrators.
#[utoipa::path(
    get, path = "/admin/hooks",
    operation_id = "adminListHooks", tag = "admin",
    params(PageParams, AdminHookParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Hook>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    _caller: Caller<AdminScope>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scopes: &[HookScope] = match query::value(query.as_deref(), "type").as_deref() {
        Some("default") => &[HookScope::Default],
        Some("all") => &[HookScope::System, HookScope::Default],
        _ => &[HookScope::System],
    };
    let snapshot = state.store.read().await.map_err(Error::from)?;
    super::list(&state, &snapshot, scopes, 0, "/api/v1/admin/hooks", query.as_deref()).await
}

/// Creates a system hook or a default hook.
#[utoipa::path(
    post, path = "/admin/hooks",
    operation_id = "adminCreateHook", tag = "admin",
    request_body = api::CreateHook,
    responses(
        (status = 201, body = api::Hook),
        (status = 409, description = "The maximum number of hooks is reached."),
        (status = 400, description = "A chat channel cannot have this name."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    JsonBody(input): JsonBody<api::CreateHook>,
) -> Result<Response, ApiError> {
    super::create(&state, HookOwner::of_admin(&caller.identity)?, input).await
}

/// Returns a system hook or a default hook.
#[utoipa::path(
    get, path = "/admin/hooks/{id}",
    operation_id = "adminGetHook", tag = "admin",
    security(("account" = [])),
    responses((status = 200, body = api::Hook)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(id): Path<String>,
) -> Result<Editable<api::Hook>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    super::get(&state, &snapshot, HookOwner::of_admin(&caller.identity)?, &id).await
}

/// Changes a system hook or a default hook.
#[utoipa::path(
    patch, path = "/admin/hooks/{id}",
    operation_id = "adminEditHook", tag = "admin",
    params(IfMatchHeader),
    request_body = api::EditHook,
    responses(
        (status = 200, body = api::Hook),
        (status = 409, description = "The maximum number of hooks is reached."),
        (status = 400, description = "A chat channel cannot have this name."),
    ),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(id): Path<String>,
    IfMatch(expected): IfMatch,
    JsonBody(input): JsonBody<api::EditHook>,
) -> Result<Response, ApiError> {
    super::edit(&state, HookOwner::of_admin(&caller.identity)?, &id, &input, &expected).await
}

/// Deletes a system hook or a default hook.
#[utoipa::path(
    delete, path = "/admin/hooks/{id}",
    operation_id = "adminDeleteHook", tag = "admin",
    params(IfMatchHeader),
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(id): Path<String>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    super::delete(&state, HookOwner::of_admin(&caller.identity)?, &id, &expected).await
}

/// Copies a default hook into existing repositories.
#[utoipa::path(
    post, path = "/admin/hooks/{id}/apply",
    operation_id = "farrierApplyHook", tag = "admin",
    request_body = api::ApplyHook,
    responses((status = 200, body = api::AppliedHook)),
)]
pub(in crate::http) async fn apply(
    State(state): State<AppState>,
    _caller: Caller<AdminScope>,
    Path(id): Path<String>,
    JsonBody(input): JsonBody<api::ApplyHook>,
) -> Result<JsonResponse<api::AppliedHook>, ApiError> {
    let after = u64::try_from(input.after).unwrap_or(0);
    let applied = hooks::apply(&state, super::number(&id), after).await?;
    Ok(ok(api::AppliedHook {
        copied: show::number(applied.copied),
        skipped: show::number(applied.skipped),
        next: applied.next.map(show::number),
    }))
}
