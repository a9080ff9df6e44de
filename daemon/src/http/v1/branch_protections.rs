//! Rules that protect the branches of a repository.

use axum::extract::{Path, State};
use farrier_common::api;
use http::StatusCode;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, SignedIn},
        error::ApiError,
        extract::{JsonBody, JsonResponse, created, ok},
    },
    service::{
        Error,
        ref_rules::{self, BranchRuleWithNames},
    },
    show::ref_rules::branch_protection,
};

type RepositoryPath = Path<(String, String)>;
type RulePath = Path<(String, String, String)>;

/// Lists the branch rules of a repository, by priority, at most 256.
#[utoipa::path(
    get, path = "",
    operation_id = "repoListBranchProtection", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = Vec<api::BranchProtection>)),
)]
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    Path((owner, name)): RepositoryPath,
) -> Result<JsonResponse<Vec<api::BranchProtection>>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let all = ref_rules::branch_rules(&snapshot, &caller.identity, (&owner, &name)).await?;
    Ok(ok(all.iter().map(show).collect()))
}

/// Returns a branch rule by its name.
#[utoipa::path(
    get, path = "",
    operation_id = "repoGetBranchProtection", tag = "repository",
    security(("account" = [])),
    responses((status = 200, body = api::BranchProtection)),
)]
pub(in crate::http) async fn get(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    Path((owner, name, rule)): RulePath,
) -> Result<JsonResponse<api::BranchProtection>, ApiError> {
    let snapshot = state.store.read().await.map_err(Error::from)?;
    let rule = ref_rules::branch_rule(&snapshot, &caller.identity, (&owner, &name), &rule).await?;
    Ok(ok(show(&rule)))
}

/// Adds a branch rule to a repository.
#[utoipa::path(
    post, path = "",
    operation_id = "repoCreateBranchProtection", tag = "repository",
    request_body = api::ChangeBranchProtection,
    responses(
        (status = 201, body = api::BranchProtection),
        (status = 400, description = "The name of the rule is missing."),
    ),
)]
pub(in crate::http) async fn create(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
    JsonBody(input): JsonBody<api::ChangeBranchProtection>,
) -> Result<JsonResponse<api::BranchProtection>, ApiError> {
    let rule = ref_rules::create_branch_rule(&state, &caller.identity, (&owner, &name), &input).await;
    Ok(created(show(&rule.map_err(ApiError::forbidden_if_exists)?)))
}

/// Changes a branch rule.
#[utoipa::path(
    patch, path = "",
    operation_id = "repoEditBranchProtection", tag = "repository",
    request_body = api::ChangeBranchProtection,
    responses((status = 200, body = api::BranchProtection)),
)]
pub(in crate::http) async fn edit(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, rule)): RulePath,
    JsonBody(input): JsonBody<api::ChangeBranchProtection>,
) -> Result<JsonResponse<api::BranchProtection>, ApiError> {
    let rule = ref_rules::edit_branch_rule(&state, &caller.identity, (&owner, &name), &rule, &input).await?;
    Ok(ok(show(&rule)))
}

/// Deletes a branch rule.
#[utoipa::path(
    delete, path = "",
    operation_id = "repoDeleteBranchProtection", tag = "repository",
    responses((status = 204)),
)]
pub(in crate::http) async fn delete(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name, rule)): RulePath,
) -> Result<StatusCode, ApiError> {
    ref_rules::delete_branch_rule(&state, &caller.identity, (&owner, &name), &rule).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sets the priorities of branch rules.
#[utoipa::path(
    post, path = "",
    operation_id = "repoUpdateBranchProtectionPriories", tag = "repository",
    request_body = api::OrderBranchProtections,
    responses((status = 204)),
)]
pub(in crate::http) async fn order(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    Path((owner, name)): RepositoryPath,
    JsonBody(input): JsonBody<api::OrderBranchProtections>,
) -> Result<StatusCode, ApiError> {
    let ids: Vec<u64> = input.ids.iter().map(|id| u64::try_from(*id).unwrap_or(0)).collect();
    ref_rules::order_branch_rules(&state, &caller.identity, (&owner, &name), &ids).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn show(rule: &BranchRuleWithNames) -> api::BranchProtection {
    branch_protection(&rule.row, &rule.names)
}
