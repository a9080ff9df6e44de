//! What is sent to a hook only to see whether it arrives: a push that did not happen, and a greeting.

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::{HeaderName, StatusCode};

use super::{At, AtHook};
use crate::{
    app::App,
    http::{
        error::ApiError,
        extract::ok,
        openapi::parameters::{PingQuery, TestQuery},
        query, show,
    },
    service::deliveries::{
        history::DeliveryScope,
        test::{self, With},
    },
};

/// Names the delivery that a test has made.
const DELIVERY: HeaderName = HeaderName::from_static("x-farrier-delivery");

/// Sends a push that did not happen to a hook, whatever it asks for.
#[utoipa::path(
    post, path = "/admin/hooks/{id}/tests",
    operation_id = "adminTestHook", tag = "admin",
    params(TestQuery),
    responses(
        (status = 200, body = api::DeliveryDetail, description = "What came of it, when that was waited for."),
        (status = 204, description = "It is on its way; `X-Farrier-Delivery` names it."),
    ),
)]
pub(in crate::http) async fn test<A: At>(
    State(app): State<App>,
    at: AtHook<A>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let value = |name| query::value(query.as_deref(), name).unwrap_or_default();
    let with = With { revision: value("ref"), repository: value("repository") };
    let row = test::test(&app, &at.identity, at.hook_owner, at.hook, &with).await?;
    tested(&app, at.scope, &row, query.as_deref()).await
}

/// Sends a greeting to a hook.
#[utoipa::path(
    post, path = "/admin/hooks/{id}/pings",
    operation_id = "adminPingHook", tag = "admin",
    params(PingQuery),
    responses(
        (status = 200, body = api::DeliveryDetail, description = "What came of it, when that was waited for."),
        (status = 204, description = "It is on its way; `X-Farrier-Delivery` names it."),
    ),
)]
pub(in crate::http) async fn ping<A: At>(
    State(app): State<App>,
    at: AtHook<A>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let row = test::ping(&app, &at.identity, at.hook_owner, at.hook).await?;
    tested(&app, at.scope, &row, query.as_deref()).await
}

async fn tested(
    app: &App,
    scope: DeliveryScope,
    row: &farrier_proto::store::Delivery,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    if query::flag(query, "wait") == Some(true) {
        return Ok(ok(show::delivery_detail(app, &test::wait(app, scope, row).await?)).into_response());
    }
    Ok((StatusCode::NO_CONTENT, [(DELIVERY, show::guid(row))]).into_response())
}
