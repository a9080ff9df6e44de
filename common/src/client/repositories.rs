//! Requests for repositories.

use http::{HeaderName, HeaderValue, Method, StatusCode, header};

use super::{Call, Chunks, Client, ClientError, Pages, RepositoryPath, answer, full, path::segment};
use crate::api::{
    CheckedMigration, CreateFork, CreateRepository, EditRepository, GenerateRepository, MergeUpstream, MergedUpstream,
    MigrateRepository, Repository, TransferRepository,
};

impl Client {
    /// Returns a repository.
    pub async fn repository(&self, path: &RepositoryPath) -> Result<Repository, ClientError> {
        self.get(&path.api()).await
    }

    /// Lists the repositories of one owner, or all that are visible to the caller.
    pub fn repositories(&self, owner: Option<&str>) -> Pages<'_> {
        Pages::new(
            self,
            match owner {
                Some(owner) => format!("/api/v1/users/{}/repos", segment(owner)),
                None => "/api/v1/repos/search?sort=alpha".to_owned(),
            },
        )
    }

    /// Lists the repositories that are visible to the caller, most recently changed first.
    pub fn changed_repositories(&self) -> Pages<'_> {
        Pages::new(self, "/api/v1/repos/search?sort=updated&order=desc".to_owned())
    }

    /// Lists the visible repositories whose names contain `text`.
    pub fn find_repositories(&self, text: &str) -> Pages<'_> {
        Pages::new(self, format!("/api/v1/repos/search?sort=alpha&q={}", segment(text)))
    }

    /// Lists the repositories of an organization.
    pub fn organization_repositories(&self, name: &str) -> Pages<'_> {
        Pages::new(self, format!("/api/v1/orgs/{}/repos", segment(name)))
    }

    /// Changes the given fields of a repository.
    pub async fn edit_repository(
        &self,
        path: &RepositoryPath,
        request: &EditRepository,
    ) -> Result<Repository, ClientError> {
        self.patch(&path.api(), request).await
    }

    /// Downloads an archive (`zip`, `tar.gz` or `bundle`) of a branch, tag or commit.
    pub async fn archive(&self, path: &RepositoryPath, reference: &str, format: &str) -> Result<Chunks, ClientError> {
        let target = format!("{}/archive/{}.{format}", path.api(), segment(reference));
        Ok(Chunks::new(self.send(Call::new(Method::GET, target)).await?.into_body()))
    }

    /// Downloads a bundle of all branches and tags.
    pub async fn bundle(&self, path: &RepositoryPath) -> Result<Chunks, ClientError> {
        let target = format!("{}/bundle", path.own());
        Ok(Chunks::new(self.send(Call::new(Method::GET, target)).await?.into_body()))
    }

    /// Moves a repository to another owner, or offers it to that owner. The answer names the offer if there is one.
    pub async fn transfer_repository(
        &self,
        path: &RepositoryPath,
        request: &TransferRepository,
    ) -> Result<Repository, ClientError> {
        self.post(&format!("{}/transfer", path.api()), request).await
    }

    /// Accepts a repository that is offered to the caller or to one of the caller's organizations.
    pub async fn accept_transfer(&self, path: &RepositoryPath) -> Result<Repository, ClientError> {
        let empty = serde_json::Map::new();
        self.post(&format!("{}/transfer/accept", path.api()), &empty).await
    }

    /// Rejects a repository that is offered to the caller, or withdraws an offer.
    pub async fn reject_transfer(&self, path: &RepositoryPath) -> Result<Repository, ClientError> {
        let empty = serde_json::Map::new();
        self.post(&format!("{}/transfer/reject", path.api()), &empty).await
    }

    /// Generates a repository from a template.
    pub async fn generate_repository(
        &self,
        template: &RepositoryPath,
        request: &GenerateRepository,
    ) -> Result<Repository, ClientError> {
        self.post(&format!("{}/generate", template.api()), request).await
    }

    /// Deletes a repository, or cancels its migration.
    pub async fn delete_repository(&self, path: &RepositoryPath) -> Result<(), ClientError> {
        self.delete(&path.api()).await
    }

    /// Forks a repository.
    pub async fn fork_repository(
        &self,
        path: &RepositoryPath,
        request: &CreateFork,
    ) -> Result<Repository, ClientError> {
        self.post(&format!("{}/forks", path.api()), request).await
    }

    /// Brings a branch of a fork up to date with its source.
    pub async fn merge_upstream(
        &self,
        path: &RepositoryPath,
        request: &MergeUpstream,
    ) -> Result<MergedUpstream, ClientError> {
        self.post(&format!("{}/merge-upstream", path.api()), request).await
    }

    /// Starts a migration and returns immediately. [`Repository::farrier_migration`] has the progress.
    pub async fn migrate_repository(&self, request: &MigrateRepository) -> Result<Repository, ClientError> {
        let text = serde_json::to_vec(request).map_err(|source| ClientError::Encode { source })?;
        let call = Call::new(Method::POST, "/api/v1/repos/migrate")
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(HeaderName::from_static("prefer"), HeaderValue::from_static("respond-async"))
            .body(full(text));
        answer::json(self.send(call).await?).await
    }

    /// Checks whether a migration could start, and returns a summary of its source.
    pub async fn check_migration(&self, request: &MigrateRepository) -> Result<CheckedMigration, ClientError> {
        self.post("/api/farrier/v1/checks/migration", request).await
    }

    /// Creates a repository for a user, an organization or the caller, depending on `owner`.
    ///
    /// Administrators can use the first route for every user. If it does not find a user, the owner may be an
    /// organization; if the caller is not an administrator, the owner may be the caller. If no route succeeds,
    /// the error of the first is returned.
    pub async fn create_repository(&self, owner: &str, request: &CreateRepository) -> Result<Repository, ClientError> {
        let refusal = match self.post(&format!("/api/v1/admin/users/{}/repos", segment(owner)), request).await {
            Err(refusal) => refusal,
            result => return result,
        };
        let elsewhere = match refusal.status() {
            Some(StatusCode::FORBIDDEN) if self.is_caller(owner).await => "/api/v1/user/repos".to_owned(),
            Some(StatusCode::FORBIDDEN | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) => {
                format!("/api/v1/orgs/{}/repos", segment(owner))
            }
            _ => return Err(refusal),
        };
        self.post(&elsewhere, request).await.map_err(|second| match second.status() {
            Some(StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) => refusal,
            _ => second,
        })
    }

    async fn is_caller(&self, owner: &str) -> bool {
        self.current_user().await.is_ok_and(|user| user.login.eq_ignore_ascii_case(owner))
    }
}
