//! Accounts as everybody sees them.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfUser, SignedIn},
        error::ApiError,
        extract::{Output, ok},
        openapi::parameters::{Paging, SearchUsers},
        page::Page,
        query, show,
    },
    service::{
        Error, access,
        accounts::{self, Filter, Order},
        viewer::{self, Viewer},
    },
};

/// The account behind the request.
#[utoipa::path(
    get, path = "/user",
    operation_id = "userGetCurrent", tag = "user",
    security(("account" = [])),
    responses((status = 200, body = api::User)),
)]
pub(in crate::http) async fn current(
    State(app): State<App>,
    caller: Caller<SignedIn<OfUser>>,
) -> Result<Output<api::User>, ApiError> {
    let account = access::require_account(&caller.identity)?;
    Ok(ok(show::user(&app, &caller.identity, &account.user)))
}

/// Accounts that the caller sees.
#[utoipa::path(
    get, path = "/users/search",
    operation_id = "userSearch", tag = "user",
    params(SearchUsers, Paging),
    responses((status = 200, body = api::FoundUsers)),
)]
pub(in crate::http) async fn search(
    State(app): State<App>,
    caller: Caller<OfUser>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let page = Page::of(query);
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let viewer = Viewer::of(&snapshot, &caller.identity).await.map_err(Error::from)?;
    let filter = Filter {
        text: query::value(query, "q"),
        id: query::value(query, "uid").and_then(|uid| uid.parse().ok()).filter(|uid| *uid != 0),
        ..Filter::default()
    };
    let (rows, total) = accounts::list(&snapshot, &viewer, &filter, (Order::Id, false), page.window()).await?;
    let data = rows.iter().map(|row| show::user(&app, &caller.identity, row)).collect();
    Ok(page.answer(&app, "/api/v1/users/search", query, total, api::FoundUsers { ok: true, data }))
}

/// An account; also an organisation, in the shape of an account.
#[utoipa::path(
    get, path = "/users/{name}",
    operation_id = "userGet", tag = "user",
    responses((status = 200, body = api::User)),
)]
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfUser>,
    Path(name): Path<String>,
) -> Result<Output<api::User>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let owner = viewer::find(&snapshot, &caller.identity, &name).await?;
    Ok(ok(show::owner(&app, &caller.identity, &owner)))
}
