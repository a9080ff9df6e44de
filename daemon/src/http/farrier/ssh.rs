//! How clients reach the daemon over SSH.

use axum::extract::State;
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::CheckedCredentials,
        extract::{JsonResponse, ok},
    },
    service::status,
};

/// Returns the address of SSH and its public host keys.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetSsh", tag = "farrier",
    responses((status = 200, body = api::SshService)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    _: CheckedCredentials,
) -> JsonResponse<api::SshService> {
    ok(status::ssh_service(&state))
}
