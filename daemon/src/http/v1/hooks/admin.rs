//! System hooks, and default hooks, which new repositories get copies of.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use farrier_proto::store::HookScope;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfAdmin},
        error::ApiError,
        extract::{Input, Output, ok},
        if_match::{Editable, IfMatch},
        openapi::parameters::{IfMatchHeader, Paging, WhichHooks},
        query, show,
    },
    service::{
        Error,
        hooks::{self, HookOwner},
    },
};

/// Hooks of administrators.
#[utoipa::path(
    get, path = "/admin/hooks",
    operation_id = "adminListHooks", tag = "admin",
    params(Paging, WhichHooks),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Hook>)),
)]
pub(in crate::http) async fn list(
    State(app): State<App>,
    _caller: Caller<OfAdmin>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scopes: &[HookScope] = match query::value(query.as_deref(), "type").as_deref() {
        Some("default") => &[HookScope::Default],
        Some("all") => &[HookScope::System, HookScope::Default],
        _ => &[HookScope::System],
    };
    let snapshot = app.store.read().await.map_err(Error::from)?;
    super::list(&app, &snapshot, scopes, 0, "/api/v1/admin/hooks", query.as_deref()).await
}

/// Makes a hook of administrators.
#[utoipa::path(
    post, path = "/admin/hooks",
    operation_id = "adminCreateHook", tag = "admin",
    request_body = api::CreateHook,
    responses(
        (status = 201, body = api::Hook),
        (status = 409, description = "The place has as many hooks as it can."),
        (status = 400, description = "A channel cannot be called so."),
    ),
)]
pub(in crate::http) async fn create(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Input(input): Input<api::CreateHook>,
) -> Result<Response, ApiError> {
    super::create(&app, HookOwner::of_admin(&caller.identity)?, input).await
}

/// A hook of administrators.
#[utoipa::path(
    get, path = "/admin/hooks/{id}",
    operation_id = "adminGetHook", tag = "admin",
    security(("account" = [])),
    responses((status = 200, body = api::Hook)),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Path(id): Path<String>,
) -> Result<Editable<api::Hook>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    super::get(&app, &snapshot, HookOwner::of_admin(&caller.identity)?, &id).await
}

/// Changes a hook of administrators.
#[utoipa::path(
    patch, path = "/admin/hooks/{id}",
    operation_id = "adminEditHook", tag = "admin",
    params(IfMatchHeader),
    request_body = api::EditHook,
    responses(
        (status = 200, body = api::Hook),
        (status = 409, description = "The place has as many hooks as it can."),
        (status = 400, description = "A channel cannot be called so."),
    ),
)]
pub(in crate::http) async fn edit(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Path(id): Path<String>,
    IfMatch(expected): IfMatch,
    Input(input): Input<api::EditHook>,
) -> Result<Response, ApiError> {
    super::edit(&app, HookOwner::of_admin(&caller.identity)?, &id, &input, &expected).await
}

/// Removes a hook of administrators.
#[utoipa::path(
    delete, path = "/admin/hooks/{id}",
    operation_id = "adminDeleteHook", tag = "admin",
    params(IfMatchHeader),
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Path(id): Path<String>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    super::delete(&app, HookOwner::of_admin(&caller.identity)?, &id, &expected).await
}

/// Copies a default hook into repositories that were there before it.
#[utoipa::path(
    post, path = "/admin/hooks/{id}/apply",
    operation_id = "farrierApplyHook", tag = "admin",
    request_body = api::ApplyHook,
    responses((status = 200, body = api::AppliedHook)),
)]
pub(in crate::http) async fn apply(
    State(app): State<App>,
    _caller: Caller<OfAdmin>,
    Path(id): Path<String>,
    Input(input): Input<api::ApplyHook>,
) -> Result<Output<api::AppliedHook>, ApiError> {
    let after = u64::try_from(input.after).unwrap_or(0);
    let applied = hooks::apply(&app, super::number(&id), after).await?;
    Ok(ok(api::AppliedHook {
        copied: show::number(applied.copied),
        skipped: show::number(applied.skipped),
        next: applied.next.map(show::number),
    }))
}
