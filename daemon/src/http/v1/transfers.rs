//! Transfers of repositories to other owners, and generation of repositories from templates.

use axum::{
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use farrier_proto::store::Repository;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
        show,
    },
    model::identity::Identity,
    service::{
        Error,
        repositories::{self, FoundRepository, Transferred},
    },
    store::Snapshot,
};

type RepositoryPath = Path<(String, String)>;

/// Moves a repository to another owner, or offers it to the new owner if the caller does not own the new owner.
#[utoipa::path(
    post, path = "",
    operation_id = "repoTransfer", tag = "repository",
    request_body = api::TransferRepository,
    responses(
        (status = 201, description = "The repository is offered to the new owner.", body = api::Repository),
        (status = 202, description = "The repository has moved.", body = api::Repository),
        (status = 409, description = "The repository is already offered to an owner."),
    ),
)]
pub(in crate::http) async fn transfer(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
    JsonBody(input): JsonBody<api::TransferRepository>,
) -> Result<Response, ApiError> {
    let transferred = repositories::transfer(&state, &caller.identity, &owner, &name, &input).await?;
    let (status, found) = match transferred {
        Transferred::Done(found) => (StatusCode::ACCEPTED, found),
        Transferred::Offered(found) => (StatusCode::CREATED, found),
    };
    Ok(JsonResponse(status, shown(&state, &caller.identity, &found).await?).into_response())
}

/// Accepts a repository that is offered to the caller or to an organization of the caller.
#[utoipa::path(
    post, path = "",
    operation_id = "acceptRepoTransfer", tag = "repository",
    responses(
        (status = 202, description = "The repository has moved.", body = api::Repository),
        (status = 409, description = "The repository is being imported."),
    ),
)]
pub(in crate::http) async fn accept(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
) -> Result<Response, ApiError> {
    let found = repositories::accept(&state, &caller.identity, &owner, &name).await?;
    Ok(JsonResponse(StatusCode::ACCEPTED, shown(&state, &caller.identity, &found).await?).into_response())
}

/// Rejects a repository that is offered to the caller, or withdraws an offer.
#[utoipa::path(
    post, path = "",
    operation_id = "rejectRepoTransfer", tag = "repository",
    responses((status = 200, body = api::Repository)),
)]
pub(in crate::http) async fn reject(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
) -> Result<Response, ApiError> {
    let found = repositories::reject(&state, &caller.identity, &owner, &name).await?;
    Ok(ok(shown(&state, &caller.identity, &found).await?).into_response())
}

/// Generates a repository from a template.
#[utoipa::path(
    post, path = "",
    operation_id = "generateRepo", tag = "repository",
    request_body = api::GenerateRepository,
    responses(
        (status = 201, body = api::Repository),
        (status = 409, description = "The owner already has a repository with this name."),
    ),
)]
pub(in crate::http) async fn generate(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
    JsonBody(input): JsonBody<api::GenerateRepository>,
) -> Result<Response, ApiError> {
    let limits = (caller.holder, caller.memory.clone());
    let found = repositories::generate(&state, &caller.identity, limits, (&owner, &name), &input).await?;
    Ok(created(show::repository(&state, &caller.identity, &found)).into_response())
}

/// Converts a repository with its pending offer.
async fn shown(state: &AppState, identity: &Identity, found: &FoundRepository) -> Result<api::Repository, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let repo_transfer = offer(state, &snapshot, identity, &found.repository).await?;
    Ok(api::Repository { repo_transfer, ..show::repository(state, identity, found) })
}

/// Converts the pending offer of a repository, if the caller may see it.
pub(super) async fn offer(
    state: &AppState,
    snapshot: &Snapshot,
    identity: &Identity,
    row: &Repository,
) -> Result<Option<api::RepositoryTransfer>, ApiError> {
    let found = repositories::visible_offer(state, snapshot, identity, row).await?;
    Ok(found.map(|offer| api::RepositoryTransfer {
        doer: show::user(&state.root_url, identity, &offer.doer),
        recipient: show::owner(&state.root_url, identity, &offer.recipient),
        teams: offer.teams.into_iter().map(|(id, name)| team(id, name)).collect(),
    }))
}

fn team(id: u64, name: String) -> api::Team {
    api::Team { id: show::number(id), name, ..api::Team::default() }
}
