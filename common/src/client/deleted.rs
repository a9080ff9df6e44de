//! Requests of administrators for deleted repositories and artifacts: list, restore, purge.

use super::{Client, ClientError, Pages, RepositoryPath, path::segment};
use crate::api::{FoundArtifact, Repository, RestorableArtifact, RestorableRepository, RestoreRepository, SetAside};

const REPOSITORIES: &str = "/api/farrier/v1/deleted/repositories";
const ARTIFACTS: &str = "/api/farrier/v1/deleted/artifacts";

impl Client {
    /// Lists the restorable deleted repositories, most recently deleted first, optionally only those with the
    /// path `path`.
    pub fn deleted_repositories(&self, path: Option<&RepositoryPath>) -> Pages<'_> {
        Pages::new(self, filtered(REPOSITORIES, path))
    }

    /// Returns a deleted repository.
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

    /// Lists the restorable deleted artifacts, most recently deleted first, optionally only those of the
    /// repository `path`.
    pub fn deleted_artifacts(&self, path: Option<&RepositoryPath>) -> Pages<'_> {
        Pages::new(self, filtered(ARTIFACTS, path))
    }

    /// Returns a deleted artifact.
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

    /// Lists data without a row in the store, which the daemon moved aside.
    pub async fn set_aside(&self) -> Result<SetAside, ClientError> {
        self.get("/api/farrier/v1/set-aside").await
    }
}

fn filtered(list: &str, path: Option<&RepositoryPath>) -> String {
    let filter = path.map(|path| format!("?repository={}", segment(&path.to_string())));
    format!("{list}{}", filter.unwrap_or_default())
}
