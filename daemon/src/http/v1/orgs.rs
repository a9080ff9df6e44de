//! Organisations.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfOrganization, OfUserOrganization, SignedIn},
        error::ApiError,
        extract::{Input, Output, created, ok},
        page::Page,
        show,
    },
    service::{
        Error, access, orgs,
        viewer::{self, Viewer},
    },
};

/// `GET /orgs`
pub(in crate::http) async fn list(
    State(app): State<App>,
    caller: Caller<OfOrganization>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = Page::of(query.as_deref());
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let viewer = Viewer::of(&snapshot, &caller.identity).await.map_err(Error::from)?;
    let (rows, total) = orgs::list(&snapshot, &viewer, page.window()).await?;
    let shown: Vec<_> = rows.iter().map(|row| show::organization(&app, &caller.identity, row)).collect();
    Ok(page.answer(&app, "/api/v1/orgs", query.as_deref(), total, shown))
}

/// `GET /user/orgs`
pub(in crate::http) async fn list_own(
    State(app): State<App>,
    caller: Caller<SignedIn<OfUserOrganization>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let user = access::require_account(&caller.identity)?.user.id;
    of_user(&app, &caller, user, "/api/v1/user/orgs", query.as_deref()).await
}

/// `GET /users/{name}/orgs`
pub(in crate::http) async fn list_of(
    State(app): State<App>,
    caller: Caller<SignedIn<OfUserOrganization>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let user = viewer::find(&snapshot, &caller.identity, &name).await?.id();
    drop(snapshot);
    of_user(&app, &caller, user, &format!("/api/v1/users/{name}/orgs"), query.as_deref()).await
}

async fn of_user(
    app: &App,
    caller: &Caller<SignedIn<OfUserOrganization>>,
    user: u64,
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let page = Page::of(query);
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let viewer = Viewer::of(&snapshot, &caller.identity).await.map_err(Error::from)?;
    let (rows, total) = page.cut(orgs::of_user(&snapshot, &viewer, user).await?);
    let shown: Vec<_> = rows.iter().map(|row| show::organization(app, &caller.identity, row)).collect();
    Ok(page.answer(app, path, query, total, shown))
}

/// `GET /users/{name}/orgs/{org}/permissions`
pub(in crate::http) async fn permissions(
    State(app): State<App>,
    caller: Caller<SignedIn<OfUserOrganization>>,
    Path((name, org)): Path<(String, String)>,
) -> Result<Output<api::OrgPermissions>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let found = orgs::permissions(&snapshot, &caller.identity, &name, &org).await?;
    Ok(ok(show::permissions(found)))
}

/// `POST /orgs`
pub(in crate::http) async fn create(
    State(app): State<App>,
    caller: Caller<OfOrganization>,
    Input(input): Input<api::CreateOrg>,
) -> Result<Output<api::Organization>, ApiError> {
    let org = orgs::create(&app, &caller.identity, None, input).await?;
    Ok(created(show::organization(&app, &caller.identity, &org)))
}

/// `GET /orgs/{org}`
pub(in crate::http) async fn get(
    State(app): State<App>,
    caller: Caller<OfOrganization>,
    Path(name): Path<String>,
) -> Result<Output<api::Organization>, ApiError> {
    let snapshot = app.store.read().await.map_err(Error::from)?;
    let org = orgs::find(&snapshot, &caller.identity, &name).await?;
    Ok(ok(show::organization(&app, &caller.identity, &org)))
}

/// `PATCH /orgs/{org}`
pub(in crate::http) async fn edit(
    State(app): State<App>,
    caller: Caller<OfOrganization>,
    Path(name): Path<String>,
    Input(input): Input<api::EditOrg>,
) -> Result<Output<api::Organization>, ApiError> {
    let org = orgs::edit(&app, &caller.identity, &name, &input).await?;
    Ok(ok(show::organization(&app, &caller.identity, &org)))
}

/// `DELETE /orgs/{org}`
pub(in crate::http) async fn delete(
    State(app): State<App>,
    caller: Caller<OfOrganization>,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    orgs::delete(&app, &caller.identity, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /orgs/{org}/rename`
pub(in crate::http) async fn rename(
    State(app): State<App>,
    caller: Caller<OfOrganization>,
    Path(name): Path<String>,
    Input(input): Input<api::RenameOrg>,
) -> Result<StatusCode, ApiError> {
    orgs::rename(&app, &caller.identity, &name, &input.new_name).await?;
    Ok(StatusCode::NO_CONTENT)
}
