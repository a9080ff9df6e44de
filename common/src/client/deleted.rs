//! Deleted repositories and artifacts, for administrators: list, restore, purge.

use super::{Client, ClientError, Pages, RepositoryPath, path::segment};
use crate::api::{FoundArtifact, Repository, RestorableArtifact, RestorableRepository, RestoreRepository, SetAside};

const REPOSITORIES: &str = "/api/farrier/v1/deleted/repositories";
const ARTIFACTS: &str = "/api/farrier/v1/deleted/artifacts";

impl Client {
    /// Deleted repositories that can be restored, the last deleted first; only those that were called
    /// `path`, if one is given.
    pub fn deleted_repositories(&self, path: Option<&RepositoryPath>) -> Pages<'_> {
        Pages::new(self, filtered(REPOSITORIES, path))
    }

    /// A deleted repository.
    pub async fn deleted_repository(&self, id: i64) -> Result<RestorableRepository, ClientError> {
        self.get(&format!("{REPOSITORIES}/{id}")).await
    }

    /// Restores a deleted repository.
    pub async fn restore_repository(&self, id: i64, target: &RestoreRepository) -> Result<Repository, ClientError> {
        self.post(&format!("{REPOSITORIES}/{id}/restore"), target).await
    }

    /// Removes a deleted repository permanently.
    pub async fn purge_repository(&self, id: i64) -> Result<(), ClientError> {
        self.delete(&format!("{REPOSITORIES}/{id}")).await
    }

    /// Deleted artifacts that can be restored, the last deleted first; only those of the repository
    /// `path`, if one is given.
    pub fn deleted_artifacts(&self, path: Option<&RepositoryPath>) -> Pages<'_> {
        Pages::new(self, filtered(ARTIFACTS, path))
    }

    /// A deleted artifact.
    pub async fn deleted_artifact(&self, id: i64) -> Result<RestorableArtifact, ClientError> {
        self.get(&format!("{ARTIFACTS}/{id}")).await
    }

    /// Restores a deleted artifact.
    pub async fn restore_artifact(&self, id: i64) -> Result<FoundArtifact, ClientError> {
        self.post(&format!("{ARTIFACTS}/{id}/restore"), &serde_json::json!({})).await
    }

    /// Removes a deleted artifact permanently.
    pub async fn purge_artifact(&self, id: i64) -> Result<(), ClientError> {
        self.delete(&format!("{ARTIFACTS}/{id}")).await
    }

    /// Data that no row of the store named and that the daemon moved out of use.
    pub async fn set_aside(&self) -> Result<SetAside, ClientError> {
        self.get("/api/farrier/v1/set-aside").await
    }
}

fn filtered(list: &str, path: Option<&RepositoryPath>) -> String {
    let filter = path.map(|path| format!("?repository={}", segment(&path.to_string())));
    format!("{list}{}", filter.unwrap_or_default())
}
