//! Checks for forms, before an object is created. They change nothing.

use axum::extract::State;
use farrier_common::api;

use crate::{
    http::{
        AppState,
        auth::{Caller, RepositoryScope, SignedIn},
        error::ApiError,
        extract::{JsonBody, JsonResponse, ok},
    },
    service::{hooks, migrations},
};

/// Applies a branch filter to the branches that were pushed last.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierCheckBranchFilter", tag = "farrier",
    request_body = api::CheckBranchFilter,
    responses((status = 200, body = api::CheckedBranchFilter)),
)]
pub(in crate::http) async fn branch_filter(
    State(state): State<AppState>,
    caller: Caller<SignedIn<RepositoryScope>>,
    JsonBody(input): JsonBody<api::CheckBranchFilter>,
) -> Result<JsonResponse<api::CheckedBranchFilter>, ApiError> {
    Ok(ok(hooks::try_filter(&state, &caller.identity, &input).await?))
}

/// Checks whether an import could start, and returns what the source contains. Fails with the errors of an import.
#[utoipa::path(
    post, path = "",
    operation_id = "farrierCheckMigration", tag = "farrier",
    request_body = api::MigrateRepository,
    responses(
        (status = 200, body = api::CheckedMigration),
        (status = 409, description = "A repository with this name exists."),
    ),
)]
pub(in crate::http) async fn migration(
    State(state): State<AppState>,
    caller: Caller<RepositoryScope>,
    JsonBody(input): JsonBody<api::MigrateRepository>,
) -> Result<JsonResponse<api::CheckedMigration>, ApiError> {
    Ok(ok(migrations::check(&state, &caller.identity, &input).await?))
}
