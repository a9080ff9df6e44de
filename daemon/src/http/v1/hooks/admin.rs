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
        query, show,
    },
    service::{
        Error,
        hooks::{self, Place},
    },
};

/// `GET /admin/hooks`: with `type` system (also for any other word), default or all.
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

/// `POST /admin/hooks`
pub(in crate::http) async fn create(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Input(input): Input<api::CreateHook>,
) -> Result<Response, ApiError> {
    super::create(&app, Place::of_admin(&caller.identity)?, input).await
}

/// `GET /admin/hooks/{id}`
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Path(id): Path<String>,
) -> Result<Output<api::Hook>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    super::get(&app, &snapshot, Place::of_admin(&caller.identity)?, &id).await
}

/// `PATCH /admin/hooks/{id}`
pub(in crate::http) async fn edit(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Path(id): Path<String>,
    Input(input): Input<api::EditHook>,
) -> Result<Response, ApiError> {
    super::edit(&app, Place::of_admin(&caller.identity)?, &id, &input).await
}

/// `DELETE /admin/hooks/{id}`
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    super::delete(&app, Place::of_admin(&caller.identity)?, &id).await
}

/// `POST /admin/hooks/{id}/apply`: copies a default hook into repositories that are there already.
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
