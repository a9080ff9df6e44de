//! What only administrators do with hooks: list system hooks and default hooks, and copy default hooks into existing
//! repositories.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use farrier_proto::store::HookScope;
use http::Uri;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
        openapi::parameters::{AdminHookParams, PageParams},
        query, show,
    },
    service::{Error, hooks},
};

/// Lists the hooks of administrators.
#[utoipa::path(
    get, path = "",
    operation_id = "adminListHooks", tag = "admin",
    params(PageParams, AdminHookParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Hook>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    uri: Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let scopes: &[HookScope] = match query::value(query.as_deref(), "type").as_deref() {
        Some("default") => &[HookScope::Default],
        Some("all") => &[HookScope::System, HookScope::Default],
        _ => &[HookScope::System],
    };
    let snapshot = state.store.read().await.map_err(Error::from)?;
    super::page_of(&state, &caller.identity, &snapshot, (scopes, 0), uri.path(), query.as_deref()).await
}

/// Copies a default hook into existing repositories.
#[utoipa::path(
    post, path = "",
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
