//! Members of an organization, and its only team, "Owners".

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use farrier_proto::store::Org;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, OrganizationScope, RequiredScopes, SignedIn},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::PageParams,
        page::PageQuery,
        show,
    },
    model::identity::Identity,
    service::{Error, orgs},
    store::{Snapshot, owners},
};

/// Lists the members of an organization. Every caller that sees the organization and a member sees the membership.
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
    page(&state, &snapshot, &caller, &org, &format!("/api/v1/orgs/{name}/members"), query.as_deref()).await
}

async fn page<N: RequiredScopes>(
    state: &AppState,
    snapshot: &Snapshot,
    caller: &Caller<N>,
    org: &Org,
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query);
    let (rows, total) = page.cut(orgs::members(snapshot, &caller.identity, org).await?);
    let shown: Vec<_> = rows.iter().map(|row| show::user(&state.root_url, &caller.identity, row)).collect();
    Ok(page.response(state, path, query, total, shown))
}

/// Returns 204 if an account is a member of an organization, else 404.
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
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = orgs::find(&snapshot, &caller.identity, &org).await?;
    let members = orgs::members(&snapshot, &caller.identity, &org).await?;
    if members.iter().any(|member| member.name.eq_ignore_ascii_case(&user)) {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Error::NotFound { what: "the member" }.into())
}

/// Removes an account from an organization.
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
    orgs::remove_member(&state, &caller.identity, org.id, &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the teams of an organization. Each organization has one team, "Owners".
#[utoipa::path(
    get, path = "",
    operation_id = "orgListTeams", tag = "organization",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Team>)),
)]
pub(in crate::http) async fn teams(
    State(state): State<AppState>,
    caller: Caller<SignedIn<OrganizationScope>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = orgs::find(&snapshot, &caller.identity, &name).await?;
    let (shown, total) = page.cut(vec![show::team(&state.root_url, &caller.identity, &org)]);
    Ok(page.response(&state, &format!("/api/v1/orgs/{name}/teams"), query.as_deref(), total, shown))
}

/// Returns a team.
#[utoipa::path(
    get, path = "",
    operation_id = "orgGetTeam", tag = "organization",
    security(("account" = [])),
    responses((status = 200, body = api::Team)),
)]
pub(in crate::http) async fn team(
    State(state): State<AppState>,
    caller: Caller<SignedIn<OrganizationScope>>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::Team>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = org_of_team(&snapshot, &caller.identity, &id).await?;
    Ok(ok(show::team(&state.root_url, &caller.identity, &org)))
}

/// Lists the members of a team.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListTeamMembers", tag = "organization",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::User>)),
)]
pub(in crate::http) async fn team_members(
    State(state): State<AppState>,
    caller: Caller<SignedIn<OrganizationScope>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = org_of_team(&snapshot, &caller.identity, &id).await?;
    page(&state, &snapshot, &caller, &org, &format!("/api/v1/teams/{id}/members"), query.as_deref()).await
}

/// Adds an account to a team.
#[utoipa::path(
    put, path = "",
    operation_id = "orgAddTeamMember", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn add_team_member(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((id, user)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = org_of_team(&snapshot, &caller.identity, &id).await?;
    drop(snapshot);
    orgs::add_member(&state, &caller.identity, org.id, &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes an account from a team.
#[utoipa::path(
    delete, path = "",
    operation_id = "orgRemoveTeamMember", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn remove_team_member(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((id, user)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let org = org_of_team(&snapshot, &caller.identity, &id).await?;
    drop(snapshot);
    orgs::remove_member(&state, &caller.identity, org.id, &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the organization whose team has the number `id`, if the caller sees it.
async fn org_of_team(snapshot: &Snapshot, identity: &Identity, id: &str) -> Result<Org, Error> {
    let missing = || Error::NotFound { what: "the team" };
    let id = id.parse().map_err(|_| missing())?;
    let org = owners::org(snapshot, id).await?.ok_or_else(missing)?;
    orgs::find(snapshot, identity, &org.name).await.map_err(|_| missing())
}
