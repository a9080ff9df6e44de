//! Requests for rules that protect branches and tags.

use super::{Client, ClientError, RepositoryPath, path::segment};
use crate::api::{BranchProtection, ChangeBranchProtection, ChangeTagProtection, TagProtection};

impl Client {
    /// Returns the branch rules of a repository, by priority.
    pub async fn branch_protections(&self, repo: &RepositoryPath) -> Result<Vec<BranchProtection>, ClientError> {
        self.get(&format!("{}/branch_protections", repo.api())).await
    }

    /// Adds a branch rule to a repository.
    pub async fn add_branch_protection(
        &self,
        repo: &RepositoryPath,
        request: &ChangeBranchProtection,
    ) -> Result<BranchProtection, ClientError> {
        self.post(&format!("{}/branch_protections", repo.api()), request).await
    }

    /// Changes the branch rule `name`.
    pub async fn edit_branch_protection(
        &self,
        repo: &RepositoryPath,
        name: &str,
        request: &ChangeBranchProtection,
    ) -> Result<BranchProtection, ClientError> {
        self.patch(&format!("{}/branch_protections/{}", repo.api(), segment(name)), request).await
    }

    /// Deletes the branch rule `name`.
    pub async fn delete_branch_protection(&self, repo: &RepositoryPath, name: &str) -> Result<(), ClientError> {
        self.delete(&format!("{}/branch_protections/{}", repo.api(), segment(name))).await
    }

    /// Returns the tag rules of a repository, by ID.
    pub async fn tag_protections(&self, repo: &RepositoryPath) -> Result<Vec<TagProtection>, ClientError> {
        self.get(&format!("{}/tag_protections", repo.api())).await
    }

    /// Adds a tag rule to a repository.
    pub async fn add_tag_protection(
        &self,
        repo: &RepositoryPath,
        request: &ChangeTagProtection,
    ) -> Result<TagProtection, ClientError> {
        self.post(&format!("{}/tag_protections", repo.api()), request).await
    }

    /// Changes the tag rule `id`.
    pub async fn edit_tag_protection(
        &self,
        repo: &RepositoryPath,
        id: i64,
        request: &ChangeTagProtection,
    ) -> Result<TagProtection, ClientError> {
        self.patch(&format!("{}/tag_protections/{id}", repo.api()), request).await
    }

    /// Deletes the tag rule `id`.
    pub async fn delete_tag_protection(&self, repo: &RepositoryPath, id: i64) -> Result<(), ClientError> {
        self.delete(&format!("{}/tag_protections/{id}", repo.api())).await
    }
}
