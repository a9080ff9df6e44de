//! The daemon about itself.

use axum::extract::State;
use farrier_common::api;

use crate::{
    app::App,
    http::{
        auth::{Caller, Nothing},
        error::ApiError,
        extract::{Output, ok},
    },
    service::status,
};

/// The daemon about itself.
#[utoipa::path(
    get, path = "/status",
    operation_id = "farrierGetStatus", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::Status)),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<Nothing>,
) -> Result<Output<api::Status>, ApiError> {
    Ok(ok(status::status(&app, &caller.identity).await?))
}
