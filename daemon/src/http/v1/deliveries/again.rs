//! Deliveries that are sent again: one of them, or all that a hook has missed.

use axum::extract::{Path, State};
use farrier_common::api;
use http::StatusCode;

use super::{At, AtHook};
use crate::{
    app::App,
    clock::Millis,
    http::{
        auth::{Caller, OfAdmin},
        error::ApiError,
        extract::{Input, Output},
        query, show,
    },
    service::{
        Error,
        deliveries::history::{self, DeliveryScope},
    },
};

/// Sends a delivery again, under the same identifier.
#[utoipa::path(
    post, path = "/admin/hooks/{id}/deliveries/{delivery}/attempts",
    operation_id = "adminRedeliverHook", tag = "admin",
    responses(
        (status = 202, body = api::Delivery),
        (status = 409, description = "The hook or the payload of the delivery was deleted."),
        (status = 422, description = "The hook is switched off."),
    ),
)]
pub(in crate::http) async fn redeliver<A: At>(
    State(app): State<App>,
    at: AtHook<A>,
) -> Result<Output<api::Delivery>, ApiError> {
    let row = history::redeliver(&app, at.scope, at.path.get("delivery")).await?;
    Ok(Output(StatusCode::ACCEPTED, show::delivery(&app, &row)))
}

/// Sends what a hook has missed again.
#[utoipa::path(
    post, path = "/admin/hooks/{id}/recover",
    operation_id = "adminRecoverHook", tag = "admin",
    request_body = api::RecoverDeliveries,
    responses((status = 202, body = api::RecoveredDeliveries)),
)]
pub(in crate::http) async fn recover<A: At>(
    State(app): State<App>,
    at: AtHook<A>,
    Input(input): Input<api::RecoverDeliveries>,
) -> Result<Output<api::RecoveredDeliveries>, ApiError> {
    let since = input.since.as_deref().filter(|text| !text.is_empty());
    let since_ms = since.map(|text| query::time("since", text)).transpose()?.unwrap_or(Millis::MIN);
    let count = if input.dry_run {
        let snapshot = app.store.read().await.map_err(Error::from)?;
        history::recoverable(&snapshot, at.scope, since_ms).await?
    } else {
        history::recover(&app, at.scope, since_ms).await?
    };
    let count = show::number(count);
    Ok(Output(StatusCode::ACCEPTED, api::RecoveredDeliveries { count }))
}

/// Sends a delivery of any hook again.
#[utoipa::path(
    post, path = "/deliveries/{delivery}/attempts",
    operation_id = "farrierRedeliver", tag = "farrier",
    responses(
        (status = 202, body = api::Delivery),
        (status = 409, description = "The hook or the payload of the delivery was deleted."),
        (status = 422, description = "The hook is switched off."),
    ),
)]
pub(in crate::http) async fn redeliver_any(
    State(app): State<App>,
    _caller: Caller<OfAdmin>,
    Path(delivery): Path<String>,
) -> Result<Output<api::Delivery>, ApiError> {
    let row = history::redeliver(&app, DeliveryScope::All, &delivery).await?;
    Ok(Output(StatusCode::ACCEPTED, show::delivery(&app, &row)))
}
