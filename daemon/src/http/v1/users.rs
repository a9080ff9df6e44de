//! Accounts and their tokens.

use axum::extract::{Path, State};
use farrier_common::api;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfAdmin, OfUser},
        error::ApiError,
        extract::{Input, Output, created, ok},
        show,
    },
    service::{Error, accounts, tokens},
};

/// `GET /user`: the account behind the request.
pub(in crate::http) async fn current(
    State(app): State<App>,
    caller: Caller<OfUser>,
) -> Result<Output<api::User>, ApiError> {
    match caller.identity.account() {
        Some(account) => Ok(ok(show::user(&app, &caller.identity, &account.user))),
        None => Err(Error::Unauthenticated { reason: "token is required".into() }.into()),
    }
}

/// `POST /admin/users`
pub(in crate::http) async fn create(
    State(app): State<App>,
    caller: Caller<OfAdmin>,
    Input(input): Input<api::CreateUser>,
) -> Result<Output<api::User>, ApiError> {
    let user = accounts::create(&app, &caller.identity, input).await?;
    Ok(created(show::user(&app, &caller.identity, &user)))
}

/// `POST /users/{name}/tokens`
pub(in crate::http) async fn create_token(
    State(app): State<App>,
    caller: Caller<OfUser>,
    Path(name): Path<String>,
    Input(input): Input<api::CreateToken>,
) -> Result<Output<api::AccessToken>, ApiError> {
    let minted = tokens::create(&app, &caller.identity, &name, &input).await.map_err(|error| match error {
        // The API family answers 400 where a token's name or scopes cannot be.
        Error::Invalid { field: "name" | "scopes", reason } => ApiError::new(http::StatusCode::BAD_REQUEST, reason),
        other => other.into(),
    })?;
    Ok(created(show::token(&minted.row, &minted.clear)))
}
