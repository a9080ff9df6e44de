//! What the daemon logs.

use axum::extract::State;
use farrier_common::api;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfAdmin},
        error::ApiError,
        extract::{Input, Output, ok},
    },
    service::logs,
};

/// What is logged.
#[utoipa::path(
    get, path = "/log",
    operation_id = "farrierGetLogFilter", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::LogFilter)),
)]
pub(in crate::http) async fn get(State(app): State<App>, _: Caller<OfAdmin>) -> Output<api::LogFilter> {
    ok(logs::get(&app))
}

/// Logs something else until the configuration is read again.
#[utoipa::path(
    patch, path = "/log",
    operation_id = "farrierSetLogFilter", tag = "farrier",
    request_body = api::SetLogFilter,
    responses((status = 200, body = api::LogFilter), (status = 422, description = "No filter can be read from it.")),
)]
pub(in crate::http) async fn set(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Input(input): Input<api::SetLogFilter>,
) -> Result<Output<api::LogFilter>, ApiError> {
    Ok(ok(logs::set(&app, &caller.identity, input)?))
}
