//! The caller's own password.

use axum::extract::State;
use farrier_common::api;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfUser, PasswordMayBeDue, SignedIn, Source},
        error::ApiError,
        extract::Input,
    },
    service::accounts,
};

/// Changes the caller's own password; also for an account that must change it before anything else.
#[utoipa::path(
    put, path = "/user/password",
    operation_id = "farrierChangePassword", tag = "farrier",
    request_body = api::ChangePassword,
    responses(
        (status = 204),
        (status = 409, description = "The account has no password, or it was changed meanwhile."),
    ),
)]
pub(in crate::http) async fn change(
    State(app): State<App>,
    caller: Caller<PasswordMayBeDue<SignedIn<OfUser>>>,
    Source(source): Source,
    Input(input): Input<api::ChangePassword>,
) -> Result<StatusCode, ApiError> {
    accounts::change_password(&app, &caller.identity, input, &source).await?;
    Ok(StatusCode::NO_CONTENT)
}
