//! Lists data that was set aside. For administrators.

use axum::extract::State;
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonResponse, ok},
        show,
    },
    service::set_aside,
};

/// Lists data that was set aside because no row of the store refers to it, with sizes and dates.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListSetAside", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::SetAside)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
) -> Result<JsonResponse<api::SetAside>, ApiError> {
    let items = set_aside::list(&state, &caller.identity).await?;
    Ok(ok(api::SetAside {
        days: state.config.storage.set_aside_days.into(),
        size_bytes: show::number(items.iter().map(|item| item.bytes).sum()),
        items: items.iter().map(show::set_aside_item).collect(),
    }))
}
