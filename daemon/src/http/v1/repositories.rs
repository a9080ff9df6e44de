//! Creates, shows, changes and deletes repositories.

use axum::{
    extract::{Path, State},
    response::Response,
};
use farrier_common::api;
use farrier_proto::store::OwnerKind;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{
            AdminScope, Caller, OrganizationRepositoryScopes, OrganizationScope, RepositoryScope, UserRepositoryScopes,
        },
        error::ApiError,
        extract::{JsonBodyWithFields, JsonResponse, created, ok},
        if_match::{Editable, IfMatch},
        openapi::parameters::IfMatchHeader,
        show,
        v1::{ignored, transfers},
    },
    model::{identity::Identity, revision::Revision},
    service::{
        Error,
        access::{self, Action},
        repositories::{self, FoundRepository, OwnerChoice},
        viewer,
    },
};

/// Fields of the request to create a repository that the repository does not show.
const APPLIED_AT_CREATION: [&str; 5] = ["auto_init", "gitignores", "license", "readme", "trust_model"];

type EditableResult = Result<Editable<api::Repository>, ApiError>;

async fn editable(state: &AppState, identity: &Identity, found: &FoundRepository) -> EditableResult {
    let shown = show::whole_repository(state, identity, found).await?;
    Ok(Editable(ok(shown), Revision::of_repository(&found.repository)))
}

/// Returns a repository.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGet", tag = "repository",
    responses((status = 200, body = api::Repository)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
) -> EditableResult {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::find(&snapshot, &caller.identity, &owner, &name, Action::Read).await?;
    let mut shown = editable(&state, &caller.identity, &found).await?;
    shown.0.1.repo_transfer = transfers::offer(&state, &snapshot, &caller.identity, &found.repository).await?;
    Ok(shown)
}

/// Returns a repository by its number.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetByID", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::Repository)),
)]
pub(in crate::http) async fn get_by_id(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path(id): Path<String>,
) -> EditableResult {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let found = repositories::find_by_id(&snapshot, &caller.identity, id.parse().unwrap_or(0)).await?;
    editable(&state, &caller.identity, &found).await
}

/// Creates a repository that the caller owns.
#[utoipa::path(
    post, path = "",
    operation_id = "createCurrentUserRepo", tag = "repository",
    request_body = api::CreateRepository,
    responses(
        (status = 201, body = api::Repository),
        (status = 400, description = "The readme template does not exist."),
        (status = 409, description = "The owner already has a repository with this name."),
    ),
)]
pub(in crate::http) async fn create_own(
    State(state): State<AppState>,
    caller: Caller<UserRepositoryScopes>,
    input: JsonBodyWithFields<api::CreateRepository>,
) -> Result<Response, ApiError> {
    create(&state, &caller.identity, OwnerChoice::Caller, input).await
}

/// Creates a repository in an organization.
#[utoipa::path(
    post, path = "",
    operation_id = "createOrgRepo", tag = "organization",
    request_body = api::CreateRepository,
    responses(
        (status = 201, body = api::Repository),
        (status = 400, description = "The readme template does not exist."),
        (status = 409, description = "The owner already has a repository with this name."),
    ),
)]
pub(in crate::http) async fn create_in_org(
    State(state): State<AppState>,
    caller: Caller<OrganizationRepositoryScopes>,
    Path(name): Path<String>,
    input: JsonBodyWithFields<api::CreateRepository>,
) -> Result<Response, ApiError> {
    create(&state, &caller.identity, OwnerChoice::Org(&name), input).await
}

/// Creates a repository for an account or organization.
#[utoipa::path(
    post, path = "",
    operation_id = "adminCreateRepo", tag = "admin",
    request_body = api::CreateRepository,
    responses(
        (status = 201, body = api::Repository),
        (status = 400, description = "The readme template does not exist."),
        (status = 409, description = "The owner already has a repository with this name."),
    ),
)]
pub(in crate::http) async fn create_for(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(owner): Path<String>,
    input: JsonBodyWithFields<api::CreateRepository>,
) -> Result<Response, ApiError> {
    create(&state, &caller.identity, OwnerChoice::Anyone(&owner), input).await
}

async fn create(
    state: &AppState,
    identity: &Identity,
    owner: OwnerChoice<'_>,
    JsonBodyWithFields(input, fields): JsonBodyWithFields<api::CreateRepository>,
) -> Result<Response, ApiError> {
    let result: Result<FoundRepository, Error> = repositories::create(state, identity, owner, input).await;
    let found = result.map_err(|error| match error {
        // Gitea-family clients expect 400 for this field.
        Error::Invalid { field: "readme", reason } => ApiError::new(StatusCode::BAD_REQUEST, reason),
        other => other.into(),
    })?;
    let shown = show::repository(state, identity, &found);
    Ok(ignored::with_settings(created(&shown), &fields, &shown, &APPLIED_AT_CREATION))
}

/// Changes a repository. Absent fields keep their values. The response header `X-Farrier-Ignored-Settings` lists the
/// settings of the request that farrier does not have.
#[utoipa::path(
    patch, path = "",
    operation_id = "repoEdit", tag = "repository",
    params(IfMatchHeader),
    request_body = api::EditRepository,
    responses((status = 200, body = api::Repository)),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    IfMatch(expected): IfMatch,
    JsonBodyWithFields(input, fields): JsonBodyWithFields<api::EditRepository>,
) -> Result<Response, ApiError> {
    let changed = repositories::edit(&state, &caller.identity, &owner, &name, &input, &expected).await?;
    let Editable(JsonResponse(status, shown), revision) = editable(&state, &caller.identity, &changed).await?;
    let response = Editable(JsonResponse(status, &shown), revision);
    // The response shows a normalized interval.
    let applied: &[&str] = if shown.mirror { &["mirror_interval"] } else { &[] };
    Ok(ignored::with_settings(response, &fields, &shown, applied))
}

/// Deletes a repository with its content, hooks, runs and artifacts.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDelete", tag = "repository",
    params(IfMatchHeader),
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): Path<(String, String)>,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    repositories::delete(&state, &caller.identity, &owner, &name, &expected).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes all repositories of an organization, or none if the request fails. Returns 202 after they were deleted,
/// 204 if there were none.
#[utoipa::path(
    delete, path = "",
    operation_id = "orgDeleteRepos", tag = "organization",
    responses((status = 202), (status = 204)),
)]
pub(in crate::http) async fn delete_all(
    State(state): State<AppState>,
    caller: Caller<OrganizationScope>,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let owner = viewer::find_of_kind(&snapshot, &caller.identity, &name, OwnerKind::Org).await?;
    let rights = access::owns(&snapshot, &caller.identity, &owner).await.map_err(Error::from)?;
    drop(snapshot);
    access::require_account(&caller.identity)?;
    if !rights {
        return Err(
            Error::Forbidden { reason: "only owners of the organization delete its repositories".into() }.into()
        );
    }
    let deleted = repositories::delete_all(&state, &caller.identity, &owner).await?;
    Ok(if deleted == 0 { StatusCode::NO_CONTENT } else { StatusCode::ACCEPTED })
}
