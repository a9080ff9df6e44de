//! Redelivers a delivery, or all missed deliveries of a hook, and tries waiting ones at once.

use axum::extract::{Path, State};
use farrier_common::api;
use http::StatusCode;

use crate::{
    clock::Millis,
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonBody, JsonResponse},
        query, show,
        v1::hooks::path::{HookPath, HookRequest},
    },
    service::deliveries::{
        history::{self, DeliveryScope},
        recovery::{self, RecoverySelection},
    },
};

/// Redelivers a delivery of a hook, with the same identifier.
#[utoipa::path(
    post, path = "",
    operation_id = "{owner}RedeliverHook",
    responses(
        (status = 202, body = api::Delivery),
        (status = 409, description = "The hook or the payload of the delivery was deleted."),
        (status = 422, description = "The hook is switched off."),
    ),
)]
pub(in crate::http) async fn redeliver<A: HookPath>(
    State(state): State<AppState>,
    request: HookRequest<A>,
) -> Result<JsonResponse<api::Delivery>, ApiError> {
    let row = history::redeliver(&state, request.scope, request.path.get("delivery")).await?;
    Ok(JsonResponse(StatusCode::ACCEPTED, show::delivery(&state, &row)))
}

/// Redelivers all missed deliveries of a hook and, on request, tries those that wait because of failures.
#[utoipa::path(
    post, path = "",
    operation_id = "{owner}RecoverHook",
    request_body = api::RecoverDeliveries,
    responses((status = 202, body = api::RecoveredDeliveries)),
)]
pub(in crate::http) async fn recover<A: HookPath>(
    State(state): State<AppState>,
    request: HookRequest<A>,
    JsonBody(input): JsonBody<api::RecoverDeliveries>,
) -> Result<JsonResponse<api::RecoveredDeliveries>, ApiError> {
    let since = input.since.as_deref().filter(|text| !text.is_empty());
    let since_ms = since.map(|text| query::time("since", text)).transpose()?.unwrap_or(Millis::MIN);
    let selection = RecoverySelection { since_ms, waiting: input.waiting };
    let counts = if input.dry_run {
        recovery::recoverable(&state, request.holder, request.scope, selection).await?
    } else {
        recovery::recover(&state, request.holder, request.scope, selection).await?
    };
    let (count, retried) = (show::number(counts.redelivered), show::number(counts.retried));
    Ok(JsonResponse(StatusCode::ACCEPTED, api::RecoveredDeliveries { count, retried }))
}

/// Redelivers a delivery of any hook.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierRedeliver", tag = "farrier",
    responses(
        (status = 202, body = api::Delivery),
        (status = 409, description = "The hook or the payload of the delivery was deleted."),
        (status = 422, description = "The hook is switched off."),
    ),
)]
pub(in crate::http) async fn redeliver_any(
    State(state): State<AppState>,
    _caller: Caller<AdminScope>,
    Path(delivery): Path<String>,
) -> Result<JsonResponse<api::Delivery>, ApiError> {
    let row = history::redeliver(&state, DeliveryScope::All, &delivery).await?;
    Ok(JsonResponse(StatusCode::ACCEPTED, show::delivery(&state, &row)))
}
