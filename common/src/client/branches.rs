//! Requests for branches and tags.

use super::{Client, ClientError, Pages, RepositoryPath, answer, path::segment};
use crate::api::{CreateBranch, CreateTag};

impl Client {
    /// Lists the branches of a repository by name.
    pub fn branches(&self, repo: &RepositoryPath) -> Pages<'_> {
        Pages::new(self, format!("{}/branches", repo.api()))
    }

    /// Lists the tags of a repository by name.
    pub fn tags(&self, repo: &RepositoryPath) -> Pages<'_> {
        Pages::new(self, format!("{}/tags", repo.api()))
    }

    /// Creates a branch.
    pub async fn create_branch(&self, repo: &RepositoryPath, request: &CreateBranch) -> Result<(), ClientError> {
        answer::drain(self.post_any(&format!("{}/branches", repo.api()), request).await?).await
    }

    /// Deletes a branch.
    pub async fn delete_branch(&self, repo: &RepositoryPath, name: &str) -> Result<(), ClientError> {
        self.delete(&format!("{}/branches/{}", repo.api(), segment(name))).await
    }

    /// Creates a tag; an annotated one if the request has a message.
    pub async fn create_tag(&self, repo: &RepositoryPath, request: &CreateTag) -> Result<(), ClientError> {
        answer::drain(self.post_any(&format!("{}/tags", repo.api()), request).await?).await
    }

    /// Deletes a tag. The daemon refuses to delete the tag of a release.
    pub async fn delete_tag(&self, repo: &RepositoryPath, name: &str) -> Result<(), ClientError> {
        self.delete(&format!("{}/tags/{}", repo.api(), segment(name))).await
    }
}
