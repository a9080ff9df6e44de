//! Teams of organizations, their members and repositories.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::{Org, Team};
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, OrganizationScope, SignedIn, UserOrganizationScopes},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::{PageParams, SearchTeamsParams},
        page::PageQuery,
        query, show,
    },
    model::identity::Identity,
    service::{
        Error,
        teams::{self, FoundTeam},
    },
};

type MemberPath = Path<(String, String)>;
type RepositoryPath = Path<(String, String, String)>;

/// Shows teams of one organization, without it.
fn of_org(state: &AppState, caller: &Caller<SignedIn<OrganizationScope>>, rows: &[Team]) -> Vec<api::Team> {
    rows.iter().map(|row| show::team(&state.root_url, &caller.identity, row, None)).collect()
}

/// Shows a team with its organization.
fn one(state: &AppState, identity: &Identity, found: &FoundTeam) -> api::Team {
    show::team(&state.root_url, identity, &found.team, Some(&found.org))
}

/// Lists the teams of an organization.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListTeams", tag = "organization",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Team>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<OrganizationScope>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (org, rows) = teams::of_org(&snapshot, &caller.identity, &name, "", false).await?;
    let (rows, total) = page.cut(rows);
    let path = path_of(&org, "teams");
    Ok(page.response(&state, &path, query.as_deref(), total, of_org(&state, &caller, &rows)))
}

/// Searches the teams of an organization.
#[utoipa::path(
    get, path = "",
    operation_id = "teamSearch", tag = "organization",
    params(SearchTeamsParams, PageParams),
    security(("account" = [])),
    responses((status = 200, body = api::TeamSearch)),
)]
pub(in crate::http) async fn search(
    State(state): State<AppState>,
    caller: Caller<SignedIn<OrganizationScope>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let page = PageQuery::of(query);
    let text = query::value(query, "q").unwrap_or_default();
    let with_descriptions = query::flag(query, "include_desc").unwrap_or(true);
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (org, rows) = teams::of_org(&snapshot, &caller.identity, &name, text.trim(), with_descriptions).await?;
    let (rows, total) = page.cut(rows);
    let address = format!("{}{}", state.root_url, path_of(&org, "teams/search"));
    let body = api::TeamSearch { data: of_org(&state, &caller, &rows), ok: true };
    Ok((page.headers(&address, query, total), ok(body)).into_response())
}

fn path_of(org: &Org, list: &str) -> String {
    format!("/api/v1/orgs/{}/{list}", org.name)
}

/// Lists the caller's teams of all organizations.
#[utoipa::path(
    get, path = "",
    operation_id = "userListTeams", tag = "user",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Team>)),
)]
pub(in crate::http) async fn own(
    State(state): State<AppState>,
    caller: Caller<SignedIn<UserOrganizationScopes>>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (rows, total) = page.cut(teams::own(&snapshot, &caller.identity).await?);
    let shown: Vec<_> = rows.iter().map(|found| one(&state, &caller.identity, found)).collect();
    Ok(page.response(&state, "/api/v1/user/teams", query.as_deref(), total, shown))
}

/// Creates a team.
#[utoipa::path(
    post, path = "",
    operation_id = "orgCreateTeam", tag = "organization",
    request_body = api::CreateTeam,
    responses((status = 201, body = api::Team)),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(org): Path<String>,
    JsonBody(input): JsonBody<api::CreateTeam>,
) -> Result<JsonResponse<api::Team>, ApiError> {
    let found = teams::create(&state, &caller.identity, &org, &input).await?;
    Ok(created(one(&state, &caller.identity, &found)))
}

/// Returns a team.
#[utoipa::path(
    get, path = "",
    operation_id = "orgGetTeam", tag = "organization",
    security(("account" = [])),
    responses((status = 200, body = api::Team)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<SignedIn<OrganizationScope>>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::Team>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = teams::find(&snapshot, &caller.identity, &id).await?;
    Ok(ok(one(&state, &caller.identity, &found)))
}

/// Changes a team. Absent fields keep their values. The rights of the team "Owners" do not change.
#[utoipa::path(
    patch, path = "",
    operation_id = "orgEditTeam", tag = "organization",
    request_body = api::EditTeam,
    responses((status = 200, body = api::Team)),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(id): Path<String>,
    JsonBody(input): JsonBody<api::EditTeam>,
) -> Result<JsonResponse<api::Team>, ApiError> {
    let found = teams::edit(&state, &caller.identity, &id, &input).await?;
    Ok(ok(one(&state, &caller.identity, &found)))
}

/// Deletes a team. Its repositories stay. Members without another team leave the organization.
#[utoipa::path(
    delete, path = "",
    operation_id = "orgDeleteTeam", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    teams::delete(&state, &caller.identity, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the members of a team.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListTeamMembers", tag = "organization",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::User>)),
)]
pub(in crate::http) async fn members(
    State(state): State<AppState>,
    caller: Caller<SignedIn<OrganizationScope>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = teams::find(&snapshot, &caller.identity, &id).await?;
    let (rows, total) = page.cut(teams::members(&snapshot, &found).await?);
    let shown: Vec<_> = rows.iter().map(|row| show::user(&state.root_url, &caller.identity, row)).collect();
    Ok(page.response(&state, &format!("/api/v1/teams/{id}/members"), query.as_deref(), total, shown))
}

/// Returns a member of a team.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListTeamMember", tag = "organization",
    security(("account" = [])),
    responses((status = 200, body = api::User)),
)]
pub(in crate::http) async fn member(
    State(state): State<AppState>,
    caller: Caller<SignedIn<OrganizationScope>>,
    Path((id, user)): MemberPath,
) -> Result<JsonResponse<api::User>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let row = teams::member(&snapshot, &caller.identity, &id, &user).await?;
    Ok(ok(show::user(&state.root_url, &caller.identity, &row)))
}

/// Adds an account to a team, and thereby to the organization.
#[utoipa::path(
    put, path = "",
    operation_id = "orgAddTeamMember", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn add_member(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((id, user)): MemberPath,
) -> Result<StatusCode, ApiError> {
    teams::add_member(&state, &caller.identity, &id, &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes an account from a team. An account without another team leaves the organization.
#[utoipa::path(
    delete, path = "",
    operation_id = "orgRemoveTeamMember", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn remove_member(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((id, user)): MemberPath,
) -> Result<StatusCode, ApiError> {
    teams::remove_member(&state, &caller.identity, &id, &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the repositories of a team that the caller sees.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListTeamRepos", tag = "organization",
    params(PageParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::Repository>)),
)]
pub(in crate::http) async fn repositories(
    State(state): State<AppState>,
    caller: Caller<SignedIn<OrganizationScope>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let team = teams::find(&snapshot, &caller.identity, &id).await?;
    let (rows, total) = teams::repositories(&snapshot, &caller.identity, &team, page.window()).await?;
    let shown: Vec<_> = rows.iter().map(|found| show::repository(&state, &caller.identity, found)).collect();
    Ok(page.response(&state, &format!("/api/v1/teams/{id}/repos"), query.as_deref(), total, shown))
}

/// Returns a repository of a team.
#[utoipa::path(
    get, path = "",
    operation_id = "orgListTeamRepo", tag = "organization",
    security(("account" = [])),
    responses((status = 200, body = api::Repository)),
)]
pub(in crate::http) async fn repository(
    State(state): State<AppState>,
    caller: Caller<SignedIn<OrganizationScope>>,
    Path((id, owner, name)): RepositoryPath,
) -> Result<JsonResponse<api::Repository>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = teams::repository(&snapshot, &caller.identity, &id, (&owner, &name)).await?;
    Ok(ok(show::repository(&state, &caller.identity, &found)))
}

/// Adds a repository of the organization to a team.
#[utoipa::path(
    put, path = "",
    operation_id = "orgAddTeamRepository", tag = "organization",
    responses((status = 204)),
)]
pub(in crate::http) async fn add_repository(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((id, owner, name)): RepositoryPath,
) -> Result<StatusCode, ApiError> {
    teams::add_repository(&state, &caller.identity, &id, (&owner, &name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a repository from a team. The repository stays.
#[utoipa::path(
    delete, path = "",
    operation_id = "orgRemoveTeamRepository", tag = "organization",
    responses((status = 204), (status = 422, description = "The team does not have the repository.")),
)]
pub(in crate::http) async fn remove_repository(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path((id, owner, name)): RepositoryPath,
) -> Result<StatusCode, ApiError> {
    teams::remove_repository(&state, &caller.identity, &id, (&owner, &name)).await?;
    Ok(StatusCode::NO_CONTENT)
}
