//! Replays of deliveries: sends a delivery once to another URL, or with another payload.

use axum::extract::{Path, State};
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
        show,
        v1::hooks::path::{Any, HookRequest},
    },
    service::deliveries::{
        history::DeliveryScope,
        replay::{self, ReplayOptions},
    },
};

/// Sends a delivery of any hook once to another URL, or with another payload, and returns the response.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierReplayDelivery", tag = "farrier",
    request_body = api::ReplayDelivery,
    responses(
        (status = 200, body = api::ReplayedDelivery),
        (status = 409, description = "The hook or the payload of the delivery was deleted."),
        (status = 422, description = "A field is not valid, or the hook is switched off."),
    ),
)]
pub(in crate::http) async fn replay_any(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(delivery): Path<String>,
    JsonBody(input): JsonBody<api::ReplayDelivery>,
) -> Result<JsonResponse<api::ReplayedDelivery>, ApiError> {
    let limits = (caller.holder, caller.memory.as_deref());
    let sent = replay::replay(&state, limits, DeliveryScope::All, &delivery, options(input)).await?;
    Ok(ok(show::replayed_delivery(&sent)))
}

/// Sends a delivery of a hook once to another URL, or with another payload, and returns the response.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierReplayHookDelivery", tag = "farrier",
    request_body = api::ReplayDelivery,
    responses(
        (status = 200, body = api::ReplayedDelivery),
        (status = 409, description = "The payload of the delivery was deleted."),
        (status = 422, description = "A field is not valid, or the hook is switched off."),
    ),
)]
pub(in crate::http) async fn replay(
    State(state): State<AppState>,
    request: HookRequest<Any>,
    JsonBody(input): JsonBody<api::ReplayDelivery>,
) -> Result<JsonResponse<api::ReplayedDelivery>, ApiError> {
    let (limits, delivery) = ((request.holder, request.memory.as_deref()), request.path.get("delivery"));
    let sent = replay::replay(&state, limits, request.scope, delivery, options(input)).await?;
    Ok(ok(show::replayed_delivery(&sent)))
}

fn options(input: api::ReplayDelivery) -> ReplayOptions {
    ReplayOptions { url: input.url, secret: input.secret.filter(|secret| !secret.is_empty()), payload: input.payload }
}
