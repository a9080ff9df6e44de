//! Deploy keys of a repository.

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
        extract::{JsonBody, JsonResponse, created, ok},
        openapi::parameters::{DeployKeyParams, FingerprintParams, PageParams},
        page::PageQuery,
        query, show,
    },
    model::identity::Identity,
    service::{
        Error,
        repositories::FoundRepository,
        ssh_keys::{self, DeployKeyFilter, DeployKeyWithContent},
    },
};

type KeyPath = Path<(String, String, String)>;

/// Lists the deploy keys of a repository, by number.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListKeys", tag = "repository",
    params(PageParams, FingerprintParams, DeployKeyParams),
    security(("account" = [])),
    responses((status = 200, body = Vec<api::DeployKey>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.as_deref();
    let filter = DeployKeyFilter {
        key_id: query::value(query, "key_id").and_then(|id| id.parse().ok()).filter(|id| *id != 0),
        fingerprint: query::value(query, "fingerprint"),
    };
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (found, all) = ssh_keys::deploy_keys(&snapshot, &caller.identity, (&owner, &name), &filter).await?;
    let page = PageQuery::of(query);
    let (keys, total) = page.cut(all);
    let shown: Vec<_> = keys.iter().map(|key| with_repository(&state, &caller.identity, &found, key)).collect();
    Ok(page.response(&state, &format!("/api/v1/repos/{owner}/{name}/keys"), query, total, shown))
}

/// Returns a deploy key of a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetKey", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::DeployKey)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    Path((owner, name, id)): KeyPath,
) -> Result<JsonResponse<api::DeployKey>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (found, key) = ssh_keys::deploy_key(&snapshot, &caller.identity, (&owner, &name), number(&id)).await?;
    Ok(ok(with_repository(&state, &caller.identity, &found, &key)))
}

/// Adds a deploy key to a repository.
#[utoipa::path(
    post, path = "",
    operation_id = "repoCreateKey", tag = "repository",
    request_body = api::CreateKey,
    responses((status = 201, body = api::DeployKey)),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    JsonBody(input): JsonBody<api::CreateKey>,
) -> Result<JsonResponse<api::DeployKey>, ApiError> {
    let place = (owner.as_str(), name.as_str());
    let (found, key) = ssh_keys::create_deploy_key(&state, &caller.identity, place, &input).await?;
    Ok(created(show::deploy_key(&state.root_url, &found.path(), &key)))
}

/// Deletes a deploy key of a repository.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteKey", tag = "repository",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): KeyPath,
) -> Result<StatusCode, ApiError> {
    ssh_keys::delete_deploy_key(&state, &caller.identity, (&owner, &name), number(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the number in a path; 0, which no key has, if it is not a number.
pub(super) fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

fn with_repository(
    state: &AppState,
    viewer: &Identity,
    found: &FoundRepository,
    key: &DeployKeyWithContent,
) -> api::DeployKey {
    let repository = Some(show::repository(state, viewer, found));
    api::DeployKey { repository, ..show::deploy_key(&state.root_url, &found.path(), key) }
}
