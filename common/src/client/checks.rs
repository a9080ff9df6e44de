//! Questions before something is made.

use super::{Client, ClientError};
use crate::api::{CheckBranchFilter, CheckedBranchFilter, CheckedMigration, MigrateRepository};

impl Client {
    /// What a branch filter does with the branches that were pushed last.
    pub async fn check_branch_filter(&self, wanted: &CheckBranchFilter) -> Result<CheckedBranchFilter, ClientError> {
        self.post("/api/farrier/v1/checks/branch-filter", wanted).await
    }

    /// Whether a migration could be begun, and what its source has.
    pub async fn check_migration(&self, wanted: &MigrateRepository) -> Result<CheckedMigration, ClientError> {
        self.post("/api/farrier/v1/checks/migration", wanted).await
    }
}
