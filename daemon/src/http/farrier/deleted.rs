//! Deleted repositories and artifacts: list, restore, purge. For administrators.

use axum::{
    extract::{Path, RawQuery, State},
    response::{IntoResponse as _, Response},
};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{AdminScope, Caller},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
        openapi::parameters::DeletedListParams,
        page::{self, PageQuery},
        query, show,
    },
    service::deleted::{self, DeletedQuery, repositories::Target},
};

/// Lists deleted repositories that can be restored, the last deleted first. `Link` has the address of the next page.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListDeletedRepositories", tag = "farrier",
    params(DeletedListParams),
    security(("account" = [])),
    responses(
        (status = 200, body = Vec<api::RestorableRepository>),
        (status = 422, description = "A filter is not valid."),
    ),
)]
pub(in crate::http) async fn repositories(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let selection = parse_query(query.as_deref())?;
    let found = deleted::repositories::page(&state, &caller.identity, &selection).await?;
    let shown: Vec<_> = found.entries.iter().map(show::restorable_repository).collect();
    Ok((headers(&state, &uri, found.next, selection.limit), ok(shown)).into_response())
}

/// Returns a deleted repository that can be restored.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetDeletedRepository", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::RestorableRepository)),
)]
pub(in crate::http) async fn repository(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::RestorableRepository>, ApiError> {
    let entry = deleted::repositories::get(&state, &caller.identity, number(&id)).await?;
    Ok(ok(show::restorable_repository(&entry)))
}

/// Restores a deleted repository with its hooks, collaborators, runs and artifacts.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierRestoreRepository", tag = "farrier",
    request_body = api::RestoreRepository,
    responses(
        (status = 200, body = api::Repository),
        (status = 409, description = "The name is taken or the owner no longer exists: name another one."),
    ),
)]
pub(in crate::http) async fn restore_repository(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(id): Path<String>,
    JsonBody(input): JsonBody<api::RestoreRepository>,
) -> Result<JsonResponse<api::Repository>, ApiError> {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let target = Target { owner: given(input.owner), name: given(input.name) };
    let found = deleted::repositories::restore(&state, &caller.identity, number(&id), &target).await?;
    Ok(ok(show::whole_repository(&state, &caller.identity, &found).await?))
}

/// Removes a deleted repository permanently.
#[utoipa::path(
    delete, path = "",
    operation_id = "farrierPurgeRepository", tag = "farrier",
    responses((status = 204)),
)]
pub(in crate::http) async fn purge_repository(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    deleted::repositories::purge(&state, &caller.identity, number(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists deleted artifacts that can be restored, the last deleted first. `Link` has the address of the next page.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierListDeletedArtifacts", tag = "farrier",
    params(DeletedListParams),
    security(("account" = [])),
    responses(
        (status = 200, body = Vec<api::RestorableArtifact>),
        (status = 422, description = "A filter is not valid."),
    ),
)]
pub(in crate::http) async fn artifacts(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    uri: http::Uri,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let selection = parse_query(query.as_deref())?;
    let found = deleted::artifacts::page(&state, &caller.identity, &selection).await?;
    let shown: Vec<_> = found.entries.iter().map(show::restorable_artifact).collect();
    Ok((headers(&state, &uri, found.next, selection.limit), ok(shown)).into_response())
}

/// Returns a deleted artifact that can be restored.
#[utoipa::path(
    get, path = "",
    operation_id = "farrierGetDeletedArtifact", tag = "farrier",
    security(("account" = [])),
    responses((status = 200, body = api::RestorableArtifact)),
)]
pub(in crate::http) async fn artifact(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::RestorableArtifact>, ApiError> {
    let entry = deleted::artifacts::get(&state, &caller.identity, number(&id)).await?;
    Ok(ok(show::restorable_artifact(&entry)))
}

/// Restores a deleted artifact.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierRestoreArtifact", tag = "farrier",
    responses(
        (status = 200, body = api::FoundArtifact),
        (status = 409, description = "It has expired, its name is taken, or its repository is deleted."),
    ),
)]
pub(in crate::http) async fn restore_artifact(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(id): Path<String>,
) -> Result<JsonResponse<api::FoundArtifact>, ApiError> {
    let entry = deleted::artifacts::restore(&state, &caller.identity, number(&id)).await?;
    Ok(ok(show::found_artifact(&state, &entry)))
}

/// Removes a deleted artifact permanently.
#[utoipa::path(
    delete, path = "",
    operation_id = "farrierPurgeArtifact", tag = "farrier",
    responses((status = 204)),
)]
pub(in crate::http) async fn purge_artifact(
    State(state): State<AppState>,
    caller: Caller<AdminScope>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    deleted::artifacts::purge(&state, &caller.identity, number(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn parse_query(query: Option<&str>) -> Result<DeletedQuery, ApiError> {
    Ok(DeletedQuery {
        path: query::value(query, "repository"),
        after: query::value(query, "cursor").map(|text| cursor(&text)).transpose()?,
        limit: PageQuery::of_actions(query).limit,
    })
}

pub(in crate::http) fn cursor(text: &str) -> Result<(i64, u64), ApiError> {
    let parts = text.split_once('-').and_then(|(ms, id)| Some((ms.parse().ok()?, id.parse().ok()?)));
    parts.ok_or_else(|| ApiError::unprocessable("cursor", "[cursor]: is not valid; take it from `Link`"))
}

fn headers(state: &AppState, uri: &http::Uri, next: Option<(i64, u64)>, limit: usize) -> http::HeaderMap {
    let next = next.map(|(ms, id)| format!("{ms}-{id}"));
    page::by_cursor(state, uri.path(), uri.query(), next.as_deref(), limit)
}

/// Parses a number in a path. Returns 0, which no object has, for other text.
fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}
