//! Changes the caller's own password.

use axum::extract::State;
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, PasswordMayBeDue, SignInSource, SignedIn, UserScope},
        error::ApiError,
        extract::JsonBody,
    },
    service::accounts,
};

/// Changes the caller's password. Also available to accounts that must change their password first.
#[utoipa::path(
    put, path = "",
    operation_id = "farrierChangePassword", tag = "farrier",
    request_body = api::ChangePassword,
    responses(
        (status = 204),
        (status = 409, description = "The account has no password, or the password was changed at the same time."),
    ),
)]
pub(in crate::http) async fn change(
    State(state): State<AppState>,
    caller: Caller<PasswordMayBeDue<SignedIn<UserScope>>>,
    SignInSource(source): SignInSource,
    JsonBody(input): JsonBody<api::ChangePassword>,
) -> Result<StatusCode, ApiError> {
    accounts::change_password(&state, &caller.identity, input, source).await?;
    Ok(StatusCode::NO_CONTENT)
}
