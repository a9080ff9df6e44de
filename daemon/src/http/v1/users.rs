//! Accounts: the caller's own, search, and public profiles.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use farrier_proto::store::User;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, SignedIn, UserScope},
        error::ApiError,
        extract::{JsonBody, JsonBodyWithFields, JsonResponse, created, ok},
        openapi::parameters::{PageParams, SearchUsersParams},
        page::PageQuery,
        query, show,
        v1::ignored,
    },
    service::{
        Error, access,
        accounts::{self, AccountFilter, AccountOrder},
        viewer::{self, Viewer},
    },
};

/// Returns the caller's account.
#[utoipa::path(
    get, path = "",
    operation_id = "userGetCurrent", tag = "user",
    security(("account" = [])),
    responses((status = 200, body = api::User)),
)]
pub(in crate::http) async fn current(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
) -> Result<JsonResponse<api::User>, ApiError> {
    let account = access::require_account(&caller.identity)?;
    Ok(ok(show::user(&state.root_url, &caller.identity, &account.user)))
}

/// Returns the settings of the caller's account.
#[utoipa::path(
    get, path = "",
    operation_id = "getUserSettings", tag = "user",
    security(("account" = [])),
    responses((status = 200, body = api::UserSettings)),
)]
pub(in crate::http) async fn settings(
    caller: Caller<SignedIn<UserScope>>,
) -> Result<JsonResponse<api::UserSettings>, ApiError> {
    Ok(ok(shown_settings(&access::require_account(&caller.identity)?.user)))
}

/// Changes the settings of the caller's account. Settings that farrier does not have are listed in a header.
#[utoipa::path(
    patch, path = "",
    operation_id = "updateUserSettings", tag = "user",
    security(("account" = [])),
    request_body = api::EditUserSettings,
    responses((status = 200, body = api::UserSettings)),
)]
pub(in crate::http) async fn edit_settings(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    JsonBodyWithFields(input, fields): JsonBodyWithFields<api::EditUserSettings>,
) -> Result<Response, ApiError> {
    let shown = shown_settings(&accounts::edit_own(&state, &caller.identity, &input).await?);
    Ok(ignored::with_settings(ok(shown.clone()), &fields, &shown, &[]))
}

/// Lists the email addresses of the caller's account.
#[utoipa::path(
    get, path = "",
    operation_id = "userListEmails", tag = "user",
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Email>)),
)]
pub(in crate::http) async fn emails(
    caller: Caller<SignedIn<UserScope>>,
) -> Result<JsonResponse<Vec<api::Email>>, ApiError> {
    Ok(ok(shown_emails(&access::require_account(&caller.identity)?.user)))
}

/// Adds email addresses to the caller's account and returns all of them. The new ones are only shown.
#[utoipa::path(
    post, path = "",
    operation_id = "userAddEmail", tag = "user",
    security(("account" = [])),
    request_body = api::Emails,
    responses((status = 201, body = Vec<api::Email>)),
)]
pub(in crate::http) async fn add_emails(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    JsonBody(input): JsonBody<api::Emails>,
) -> Result<JsonResponse<Vec<api::Email>>, ApiError> {
    let user = accounts::add_emails(&state, &caller.identity, &input.emails).await?;
    Ok(created(shown_emails(&user)))
}

/// Removes email addresses from the caller's account.
#[utoipa::path(
    delete, path = "",
    operation_id = "userDeleteEmail", tag = "user",
    security(("account" = [])),
    request_body = api::Emails,
    responses((status = 204)),
)]
pub(in crate::http) async fn delete_emails(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserScope>>,
    JsonBody(input): JsonBody<api::Emails>,
) -> Result<StatusCode, ApiError> {
    accounts::delete_emails(&state, &caller.identity, &input.emails).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn shown_settings(user: &User) -> api::UserSettings {
    api::UserSettings {
        full_name: user.full_name.clone(),
        website: user.website.clone(),
        description: user.description.clone(),
        location: user.location.clone(),
        language: user.language.clone(),
        theme: "gitea-auto".into(),
        hide_email: user.hide_email,
        hide_activity: user.hide_activity,
        ..api::UserSettings::default()
    }
}

fn shown_emails(user: &User) -> Vec<api::Email> {
    let own = Some(&user.email).filter(|email| !email.is_empty());
    let email = |(email, is_own): (&String, bool)| api::Email {
        email: email.clone(),
        verified: is_own,
        primary: is_own,
        user_id: show::number(user.id),
        username: user.name.clone(),
    };
    own.into_iter()
        .map(|email| (email, true))
        .chain(user.other_emails.iter().map(|email| (email, false)))
        .map(email)
        .collect()
}

/// Searches the accounts that the caller sees.
#[utoipa::path(
    get, path = "",
    operation_id = "userSearch", tag = "user",
    params(SearchUsersParams, PageParams),
    responses((status = 200, body = api::FoundUsers)),
)]
pub(in crate::http) async fn search(
    State(state): State<AppState>,
    caller: Caller<UserScope>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let page = PageQuery::of(query);
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let viewer = Viewer::of(&snapshot, &caller.identity).await.map_err(Error::from)?;
    let filter = AccountFilter {
        text: query::value(query, "q"),
        // As in the results: signed-in callers see e-mail addresses.
        in_email: caller.identity.account().is_some(),
        in_hidden_email: caller.identity.is_admin(),
        id: query::value(query, "uid").and_then(|uid| uid.parse().ok()).filter(|uid| *uid != 0),
        ..AccountFilter::default()
    };
    let (rows, total) = accounts::list(&snapshot, &viewer, &filter, (AccountOrder::Id, false), page.window()).await?;
    let data = rows.iter().map(|row| show::user(&state.root_url, &caller.identity, row)).collect();
    Ok(page.response(&state, "/api/v1/users/search", query, total, api::FoundUsers { ok: true, data }))
}

/// Returns an account. An organization is returned in the format of an account.
#[utoipa::path(
    get, path = "",
    operation_id = "userGet", tag = "user",
    responses((status = 200, body = api::User)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<UserScope>,
    Path(name): Path<String>,
) -> Result<JsonResponse<api::User>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let owner = viewer::find(&snapshot, &caller.identity, &name).await?;
    Ok(ok(show::owner(&state.root_url, &caller.identity, &owner)))
}
