//! Accounts: the caller's own, search, and public profiles.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{Caller, SignedIn, UserScope},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::{PageParams, SearchUsersParams},
        page::PageQuery,
        query, show,
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
