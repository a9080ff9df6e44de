//! Questions before something is made: for forms. They change nothing.

use axum::extract::State;
use farrier_common::api;

use crate::{
    app::App,
    http::{
        auth::{Caller, OfRepository, SignedIn},
        error::ApiError,
        extract::{Input, Output, ok},
    },
    service::{hooks, migrations},
};

/// Tries a branch filter on the branches that were pushed last.
#[utoipa::path(
    post, path = "/checks/branch-filter",
    operation_id = "farrierCheckBranchFilter", tag = "farrier",
    request_body = api::CheckBranchFilter,
    responses((status = 200, body = api::CheckedBranchFilter)),
)]
pub(in crate::http) async fn branch_filter(
    State(app): State<App>,
    caller: Caller<SignedIn<OfRepository>>,
    Input(input): Input<api::CheckBranchFilter>,
) -> Result<Output<api::CheckedBranchFilter>, ApiError> {
    Ok(ok(hooks::try_filter(&app, &caller.identity, &input).await?))
}

/// Asks whether a migration could be begun, and what its source has. Refuses what a migration refuses.
#[utoipa::path(
    post, path = "/checks/migration",
    operation_id = "farrierCheckMigration", tag = "farrier",
    request_body = api::MigrateRepository,
    responses(
        (status = 200, body = api::CheckedMigration),
        (status = 409, description = "There is something of that name."),
    ),
)]
pub(in crate::http) async fn migration(
    State(app): State<App>,
    caller: Caller<OfRepository>,
    Input(input): Input<api::MigrateRepository>,
) -> Result<Output<api::CheckedMigration>, ApiError> {
    Ok(ok(migrations::check(&app, &caller.identity, &input).await?))
}
