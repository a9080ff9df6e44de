//! Organizations: lists, shows, creates, edits and deletes them.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, OrganizationScope, SignedIn, UserOrganizationScopes},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::PageParams,
        page::PageQuery,
        show,
    },
    service::{
        Error, access, orgs,
        viewer::{self, Viewer},
    },
};

/// Lists the organizations that the caller sees, by name.
#[utoipa::path(
    get, path = "",
    operation_id = "orgGetAll", tag = "organization",
    params(PageParams),
    responses((status = 200, body = Vec<api::Organization>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let viewer = Viewer::of(&snapshot, &caller.identity).await.map_err(Error::from)?;
    let (rows, total) = orgs::list(&snapshot, &viewer, page.window()).await?;
    let shown: Vec<_> = rows.iter().map(|row| show::organization(&state.root_url, &caller.identity, row)).collect();
    Ok(page.response(&state, "/api/v1/orgs", query.as_deref(), total, shown))
}

/// Lists the caller's organizations.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListCurrentUserOrgs", tag = "organization",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Organization>)),
)]
pub(in crate::http) async fn list_own(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserOrganizationScopes>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let user = access::require_account(&caller.identity)?.user.id;
    of_user(&state, &caller, user, "/api/v1/user/orgs", query.as_deref()).await
}

/// Lists the organizations of an account.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListUserOrgs", tag = "organization",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Organization>)),
)]
pub(in crate::http) async fn list_of(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserOrganizationScopes>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let user = viewer::find(&snapshot, &caller.identity, &name).await?.id();
    drop(snapshot);
    of_user(&state, &caller, user, &format!("/api/v1/users/{name}/orgs"), query.as_deref()).await
}

async fn of_user(
    state: &AppState,
    caller: &Caller<SignedIn<UserOrganizationScopes>>,
    user: u64,
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query);
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let viewer = Viewer::of(&snapshot, &caller.identity).await.map_err(Error::from)?;
    let (rows, total) = page.cut(orgs::of_user(&snapshot, &viewer, user).await?);
    let shown: Vec<_> = rows.iter().map(|row| show::organization(&state.root_url, &caller.identity, row)).collect();
    Ok(page.response(state, path, query, total, shown))
}

/// Returns the permissions of an account in an organization.
#[utoipa::path(
    get, path = "",
    operation_id = "orgGetUserPermissions", tag = "organization",
    security(("account" = [])),
    responses((status = 200, body = api::OrgPermissions)),
)]
pub(in crate::http) async fn permissions(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserOrganizationScopes>>,
    Path((name, org)): Path<(String, String)>,
) -> Result<JsonResponse<api::OrgPermissions>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = orgs::permissions(&snapshot, &caller.identity, &name, &org).await?;
    Ok(ok(show::permissions(found)))
}

/// Creates an organization.
#[utoipa::path(
    post, path = "",
    operation_id = "orgCreate", tag = "organization",
    request_body = api::CreateOrg,
    responses((status = 201, body = api::Organization)),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    JsonBody(input): JsonBody<api::CreateOrg>,
) -> Result<JsonResponse<api::Organization>, ApiError> {
    let org = orgs::create(&state, &caller.identity, None, input).await?;
    Ok(created(show::organization(&state.root_url, &caller.identity, &org)))
}

/// Returns an organization.
#[utoipa::path(
    get, path = "",
    operation_id = "orgGet", tag = "organization",
    responses((status = 200, body = api::Organization)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(name): Path<String>,
) -> Result<JsonResponse<api::Organization>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = orgs::find(&snapshot, &caller.identity, &name).await?;
    Ok(ok(show::organization(&state.root_url, &caller.identity, &org)))
}

/// Changes an organization. Absent fields keep their values.
#[utoipa::path(
    patch, path = "",
    operation_id = "orgEdit", tag = "organization",
    request_body = api::EditOrg,
    responses((status = 200, body = api::Organization)),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(name): Path<String>,
    JsonBody(input): JsonBody<api::EditOrg>,
) -> Result<JsonResponse<api::Organization>, ApiError> {
    let org = orgs::edit(&state, &caller.identity, &name, &input).await?;
    Ok(ok(show::organization(&state.root_url, &caller.identity, &org)))
}

/// Deletes an organization without repositories.
#[utoipa::path(
    delete, path = "",
    operation_id = "orgDelete", tag = "organization",
    responses((status = 204), (status = 409, description = "The organization owns repositories.")),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    orgs::delete(&state, &caller.identity, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Renames an organization. The old name redirects to the new one.
#[utoipa::path(
    post, path = "",
    operation_id = "renameOrg", tag = "organization",
    request_body = api::RenameOrg,
    responses((status = 204)),
)]
pub(in crate::http) async fn rename(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(name): Path<String>,
    JsonBody(input): JsonBody<api::RenameOrg>,
) -> Result<StatusCode, ApiError> {
    orgs::rename(&state, &caller.identity, &name, &input.new_name).await?;
    Ok(StatusCode::NO_CONTENT)
}
