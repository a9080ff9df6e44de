//! Members of an organization.

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
        auth::{Caller, OrganizationScope, RequiredScopes},
        error::ApiError,
        openapi::parameters::PageParams,
        page::PageQuery,
        show,
    },
    model::identity::Identity,
    service::{
        Error,
        orgs::{self, Members},
        teams,
    },
};

/// Lists the members of an organization. Concealed memberships are listed only for members and administrators.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListMembers", tag = "organization",
    params(PageParams),
    responses((status = 200, body = Vec<api::User>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = orgs::find(&snapshot, &caller.identity, &name).await?;
    let rows = orgs::members(&snapshot, &caller.identity, &org, Members::All).await?;
    Ok(page(&state, &caller, rows, &format!("/api/v1/orgs/{name}/members"), query.as_deref()))
}

/// Lists the members of an organization whose membership is not concealed.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListPublicMembers", tag = "organization",
    params(PageParams),
    responses((status = 200, body = Vec<api::User>)),
)]
pub(in crate::http) async fn list_public(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = orgs::find(&snapshot, &caller.identity, &name).await?;
    let rows = orgs::members(&snapshot, &caller.identity, &org, Members::Public).await?;
    Ok(page(&state, &caller, rows, &format!("/api/v1/orgs/{name}/public_members"), query.as_deref()))
}

fn page<N: RequiredScopes>(
    state: &AppState,
    caller: &Caller<N>,
    rows: Vec<User>,
    path: &str,
    query: Option<&str>,
) -> Response {
    let page = PageQuery::of(query);
    let (rows, total) = page.cut(rows);
    let shown: Vec<_> = rows.iter().map(|row| show::user(&state.root_url, &caller.identity, row)).collect();
    page.response(state, path, query, total, shown)
}

/// Returns 204 if an account is a member of an organization and the caller sees the membership, else 404.
#[utoipa::path(
    get, path = "",
    operation_id = "orgIsMember", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn is_member(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((org, user)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    require_member(&state, &caller.identity, &org, &user, Members::All).await
}

/// Returns 204 if an account is a member of an organization and the membership is not concealed, else 404.
#[utoipa::path(
    get, path = "",
    operation_id = "orgIsPublicMember", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn is_public_member(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((org, user)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    require_member(&state, &caller.identity, &org, &user, Members::Public).await
}

async fn require_member(
    state: &AppState,
    identity: &Identity,
    org: &str,
    user: &str,
    which: Members,
) -> Result<StatusCode, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = orgs::find(&snapshot, identity, org).await?;
    let members = orgs::members(&snapshot, identity, &org, which).await?;
    if members.iter().any(|member| member.name.eq_ignore_ascii_case(user)) {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Error::NotFound { what: "the member" }.into())
}

/// Makes the caller's own membership of an organization public.
#[utoipa::path(
    put, path = "",
    operation_id = "orgPublicizeMember", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn publicize(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((org, user)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    orgs::set_concealed(&state, &caller.identity, &org, &user, false).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Conceals the caller's own membership of an organization from callers who are not members.
#[utoipa::path(
    delete, path = "",
    operation_id = "orgConcealMember", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn conceal(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((org, user)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    orgs::set_concealed(&state, &caller.identity, &org, &user, true).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes an account from an organization and all its teams.
#[utoipa::path(
    delete, path = "",
    operation_id = "orgDeleteMember", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn remove(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((org, user)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = orgs::find(&snapshot, &caller.identity, &org).await?;
    drop(snapshot);
    teams::leave_org(&state, &caller.identity, org.id, &user).await?;
    Ok(StatusCode::NO_CONTENT)
}
