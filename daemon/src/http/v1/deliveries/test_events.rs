//! Test events: sends a test push or a ping to a hook.

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::{HeaderName, StatusCode};

use crate::{
    http::{
        AppState,
        error::ApiError,
        extract::ok,
        openapi::parameters::{PingHookParams, TestHookParams},
        query, show,
        v1::hooks::path::{HookPath, HookRequest},
    },
    service::deliveries::{
        history::DeliveryScope,
        test::{self, TestOptions},
    },
};

/// Response header with the identifier of the test delivery.
const DELIVERY: HeaderName = HeaderName::from_static("x-farrier-delivery");

/// Sends a test push event to a hook, regardless of the hook's events.
#[utoipa::path(
    post, path = "",
    operation_id = "{owner}TestHook",
    params(TestHookParams),
    responses(
        (status = 200, body = api::DeliveryDetail, description = "The result of the delivery, with `wait=true`."),
        (status = 204, description = "The delivery is queued; `X-Farrier-Delivery` is its identifier."),
    ),
)]
pub(in crate::http) async fn test<A: HookPath>(
    State(state): State<AppState>,
    request: HookRequest<A>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let value = |name| query::value(query.as_deref(), name).unwrap_or_default();
    let options = TestOptions { revision: value("ref"), repository: value("repository") };
    let row = test::test(&state, &request.identity, request.hook_owner, request.hook, &options).await?;
    test_response(&state, request.scope, &row, query.as_deref()).await
}

/// Sends a ping event to a hook.
#[utoipa::path(
    post, path = "",
    operation_id = "{owner}PingHook",
    params(PingHookParams),
    responses(
        (status = 200, body = api::DeliveryDetail, description = "The result of the delivery, with `wait=true`."),
        (status = 204, description = "The delivery is queued; `X-Farrier-Delivery` is its identifier."),
    ),
)]
pub(in crate::http) async fn ping<A: HookPath>(
    State(state): State<AppState>,
    request: HookRequest<A>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let row = test::ping(&state, &request.identity, request.hook_owner, request.hook).await?;
    test_response(&state, request.scope, &row, query.as_deref()).await
}

async fn test_response(
    state: &AppState,
    scope: DeliveryScope,
    row: &farrier_proto::store::Delivery,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    if query::flag(query, "wait") == Some(true) {
        return Ok(ok(show::delivery_detail(state, &test::wait(state, scope, row).await?)).into_response());
    }
    Ok((StatusCode::NO_CONTENT, [(DELIVERY, show::guid(row))]).into_response())
}
