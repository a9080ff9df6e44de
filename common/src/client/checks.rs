//! Requests that check input before something is created.

use super::{Client, ClientError};
use crate::api::{CheckBranchFilter, CheckedBranchFilter, CheckedMigration, MigrateRepository};

impl Client {
    /// Returns which of the recently pushed branches a branch filter matches.
    pub async fn check_branch_filter(&self, request: &CheckBranchFilter) -> Result<CheckedBranchFilter, ClientError> {
        self.post("/api/farrier/v1/checks/branch-filter", request).await
    }

    /// Checks whether a migration could start, and returns a summary of its source.
    pub async fn check_migration(&self, request: &MigrateRepository) -> Result<CheckedMigration, ClientError> {
        self.post("/api/farrier/v1/checks/migration", request).await
    }
}
