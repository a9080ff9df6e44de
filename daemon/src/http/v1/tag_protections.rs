//! Rules that protect the tags of a repository.

use axum::extract::{Path, State};
use farrier_common::api;
use http::StatusCode;

use super::deploy_keys::number;
use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, SignedIn},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
    },
    service::{
        Error,
        ref_rules::{self, TagRuleWithNames},
    },
    show::ref_rules::tag_protection,
};

type RepositoryPath = Path<(String, String)>;
type RulePath = Path<(String, String, String)>;

/// Lists the tag rules of a repository, by ID, at most 256.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListTagProtection", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = Vec<api::TagProtection>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    Path((owner, name)): RepositoryPath,
) -> Result<JsonResponse<Vec<api::TagProtection>>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let all = ref_rules::tag_rules(&snapshot, &caller.identity, (&owner, &name)).await?;
    Ok(ok(all.iter().map(show).collect()))
}

/// Returns a tag rule.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetTagProtection", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::TagProtection)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    Path((owner, name, id)): RulePath,
) -> Result<JsonResponse<api::TagProtection>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let rule = ref_rules::tag_rule(&snapshot, &caller.identity, (&owner, &name), number(&id)).await?;
    Ok(ok(show(&rule)))
}

/// Adds a tag rule to a repository.
#[utoipa::path(
    post, path = "",
    operation_id = "repoCreateTagProtection", tag = "repository",
    request_body = api::ChangeTagProtection,
    responses(
        (status = 201, body = api::TagProtection),
        (status = 400, description = "The pattern is missing, or both lists are empty."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
    JsonBody(input): JsonBody<api::ChangeTagProtection>,
) -> Result<JsonResponse<api::TagProtection>, ApiError> {
    let rule = ref_rules::create_tag_rule(&state, &caller.identity, (&owner, &name), &input).await;
    Ok(created(show(&rule.map_err(ApiError::forbidden_if_exists)?)))
}

/// Changes a tag rule.
#[utoipa::path(
    patch, path = "",
    operation_id = "repoEditTagProtection", tag = "repository",
    request_body = api::ChangeTagProtection,
    responses((status = 200, body = api::TagProtection)),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): RulePath,
    JsonBody(input): JsonBody<api::ChangeTagProtection>,
) -> Result<JsonResponse<api::TagProtection>, ApiError> {
    let rule = ref_rules::edit_tag_rule(&state, &caller.identity, (&owner, &name), number(&id), &input).await;
    Ok(ok(show(&rule.map_err(ApiError::forbidden_if_exists)?)))
}

/// Deletes a tag rule.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteTagProtection", tag = "repository",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, id)): RulePath,
) -> Result<StatusCode, ApiError> {
    ref_rules::delete_tag_rule(&state, &caller.identity, (&owner, &name), number(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn show(rule: &TagRuleWithNames) -> api::TagProtection {
    tag_protection(&rule.row, &rule.names)
}
