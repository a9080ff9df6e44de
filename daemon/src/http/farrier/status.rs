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

/// `GET /status`
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<Nothing>,
) -> Result<Output<api::Status>, ApiError> {
    Ok(ok(status::status(&app, &caller.identity).await?))
}
