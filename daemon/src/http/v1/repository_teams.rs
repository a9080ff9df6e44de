//! The teams of a repository.

use axum::{
    extract::{Path, RawQuery, State},
    response::Response,
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, SignedIn},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::PageParams,
        page::PageQuery,
        show,
    },
    service::{Error, teams},
};

type TeamPath = Path<(String, String, String)>;

/// Lists the teams of a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListTeams", tag = "repository",
    params(PageParams),
    security(("account" = [])),
    responses(
        (status = 200, body = Vec<api::Team>),
        (status = 405, description = "The repository does not belong to an organization."),
    ),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let page = PageQuery::of(query.as_deref());
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (rows, total) = page.cut(teams::of_repository(&snapshot, &caller.identity, (&owner, &name)).await?);
    let shown: Vec<_> =
        rows.iter().map(|found| show::team(&state.root_url, &caller.identity, &found.team, None)).collect();
    Ok(page.response(&state, &format!("/api/v1/repos/{owner}/{name}/teams"), query.as_deref(), total, shown))
}

/// Returns a team of a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "repoCheckTeam", tag = "repository",
    security(("account" = [])),
    responses(
        (status = 200, body = api::Team),
        (status = 405, description = "The repository does not belong to an organization."),
    ),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    Path((owner, name, team)): TeamPath,
) -> Result<JsonResponse<api::Team>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = teams::team_of_repository(&snapshot, &caller.identity, (&owner, &name), &team).await?;
    Ok(ok(show::team(&state.root_url, &caller.identity, &found.team, Some(&found.org))))
}

/// Adds a team to a repository.
#[utoipa::path(
    put, path = "",
    operation_id = "repoAddTeam", tag = "repository",
    responses(
        (status = 204),
        (status = 405, description = "The repository does not belong to an organization."),
        (status = 422, description = "The team has the repository already."),
    ),
)]
pub(in crate::http) async fn add(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, team)): TeamPath,
) -> Result<StatusCode, ApiError> {
    teams::add_team(&state, &caller.identity, (&owner, &name), &team).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a team from a repository.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteTeam", tag = "repository",
    responses(
        (status = 204),
        (status = 405, description = "The repository does not belong to an organization."),
        (status = 422, description = "The team does not have the repository, or has all repositories."),
    ),
)]
pub(in crate::http) async fn remove(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, team)): TeamPath,
) -> Result<StatusCode, ApiError> {
    teams::remove_team(&state, &caller.identity, (&owner, &name), &team).await?;
    Ok(StatusCode::NO_CONTENT)
}
