//! Artifacts of a repository and of its runs.
//!
//! Lists have the format that the Actions toolkit reads. A download is a redirect to a signed address, which needs no
//! credentials.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse, Response},
};
use farrier_common::api;
use farrier_proto::store::{Artifact, Run};
use http::{HeaderMap, StatusCode, header};

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonResponse, ok},
        openapi::parameters::{ActionsPageParams, ArtifactNameParams},
        origin,
        page::PageQuery,
        show,
    },
    serve::Peer,
    service::{
        Error,
        access::Action,
        artifacts,
        repositories::{self, FoundRepository},
    },
    store::{Snapshot, artifacts::ArtifactList},
};

async fn repository(
    snapshot: &Snapshot,
    caller: &Caller<RepositoryScope>,
    (owner, name): (&str, &str),
    action: Action,
) -> Result<(FoundRepository, String), ApiError> {
    let found = repositories::find(snapshot, &caller.identity, owner, name, action).await?;
    let path = found.path();
    Ok((found, path))
}

/// Lists the artifacts of a repository, newest first.
#[utoipa::path(
    get, path = "",
    operation_id = "getArtifacts", tag = "actions",
    params(ArtifactNameParams, ActionsPageParams),
    responses((status = 200, body = api::Artifacts)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (found, path) = repository(&snapshot, &caller, (&owner, &name), Action::ReadActions).await?;
    let address = format!("{}/artifacts", show::actions_url(&state.root_url, &path));
    page(&state, &snapshot, ArtifactList::Repository(found.repository.id), &path, &address, query.as_deref()).await
}

/// Lists the artifacts of a run. The list is empty if the run does not exist.
#[utoipa::path(
    get, path = "",
    operation_id = "getArtifactsOfRun", tag = "actions",
    params(ArtifactNameParams, ActionsPageParams),
    responses((status = 200, body = api::Artifacts)),
)]
pub(in crate::http) async fn list_of_run(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, run)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (found, path) = repository(&snapshot, &caller, (&owner, &name), Action::ReadActions).await?;
    let run = run.parse().unwrap_or(0);
    let known = crate::service::ci::run_in(&snapshot, found.repository.id, run).await;
    let run = match known {
        Ok(run) => run.id,
        Err(Error::NotFound { .. }) => 0,
        Err(other) => return Err(other.into()),
    };
    let address = format!("{}/runs/{run}/artifacts", show::actions_url(&state.root_url, &path));
    page(&state, &snapshot, ArtifactList::Run(run), &path, &address, query.as_deref()).await
}

async fn page(
    state: &AppState,
    snapshot: &Snapshot,
    list: ArtifactList,
    path: &str,
    address: &str,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let page = PageQuery::of_actions(query);
    let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let name = pairs.find(|(key, value)| key == "name" && !value.is_empty()).map(|(_, value)| value);
    let (rows, total) = artifacts::list(snapshot, list, name.as_deref(), page.skip(), page.limit).await?;
    let now = state.now_ms();
    let shown = rows.iter().map(|(row, run)| show::artifact(&state.root_url, path, row, run, now)).collect();
    let body = api::Artifacts { total_count: show::number(total), artifacts: shown };
    Ok((page.headers(address, query, total), ok(body)).into_response())
}

async fn one(
    state: &AppState,
    caller: &Caller<RepositoryScope>,
    (owner, name, id): (&str, &str, &str),
) -> Result<(Artifact, Run, String), ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (found, path) = repository(&snapshot, caller, (owner, name), Action::ReadActions).await?;
    let (row, run) = artifacts::find(&snapshot, found.repository.id, artifact_id(id)?).await?;
    Ok((row, run, path))
}

fn artifact_id(text: &str) -> Result<u64, Error> {
    text.parse().map_err(|_| Error::NotFound { what: "the artifact" })
}

/// Returns an artifact.
#[utoipa::path(
    get, path = "",
    operation_id = "getArtifact", tag = "actions",
    responses((status = 200, body = api::Artifact)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): Path<(String, String, String)>,
) -> Result<JsonResponse<api::Artifact>, ApiError> {
    let (row, run, path) = one(&state, &caller, (&owner, &name, &id)).await?;
    Ok(ok(show::artifact(&state.root_url, &path, &row, &run, state.now_ms())))
}

/// Redirects to the content of an artifact, at a signed address that needs no credentials.
#[utoipa::path(
    get, path = "",
    operation_id = "downloadArtifact", tag = "actions",
    responses((status = 302)),
)]
pub(in crate::http) async fn download(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): Path<(String, String, String)>,
    peer: Option<axum::Extension<Peer>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (row, _, _) = one(&state, &caller, (&owner, &name, &id)).await?;
    let base = origin::base(&state, &headers, peer.as_deref());
    let location = format!("{base}{}", artifacts::read_address(&state, &row, Some(&caller.identity))?);
    Ok((StatusCode::FOUND, [(header::LOCATION, location)]).into_response())
}

/// Deletes an artifact.
#[utoipa::path(
    delete, path = "",
    operation_id = "deleteArtifact", tag = "actions",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): Path<(String, String, String)>,
) -> Result<StatusCode, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let (found, _) = repository(&snapshot, &caller, (&owner, &name), Action::WriteActions).await?;
    drop(snapshot);
    artifacts::delete(&state, &caller.identity, found.repository.id, artifact_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
