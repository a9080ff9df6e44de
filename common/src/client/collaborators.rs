//! Requests for collaborators of repositories.

use http::Method;

use super::{Client, ClientError, Pages, RepositoryPath, answer, path::segment};
use crate::api::{AddCollaborator, CollaboratorPermission};

impl Client {
    /// Lists the collaborators of a repository as users.
    pub fn collaborators(&self, repo: &RepositoryPath) -> Pages<'_> {
        Pages::new(self, format!("{}/collaborators", repo.api()))
    }

    /// Returns the permission of the account `user` in a repository. Administrators of the repository may request
    /// it for every account, others only for themselves.
    pub async fn collaborator_permission(
        &self,
        repo: &RepositoryPath,
        user: &str,
    ) -> Result<CollaboratorPermission, ClientError> {
        self.get(&format!("{}/permission", collaborator(repo, user))).await
    }

    /// Adds a collaborator to a repository, or changes the permission of one.
    pub async fn put_collaborator(
        &self,
        repo: &RepositoryPath,
        user: &str,
        request: &AddCollaborator,
    ) -> Result<(), ClientError> {
        answer::drain(self.send_json(Method::PUT, &collaborator(repo, user), request).await?).await
    }

    /// Removes a collaborator from a repository.
    pub async fn remove_collaborator(&self, repo: &RepositoryPath, user: &str) -> Result<(), ClientError> {
        self.delete(&collaborator(repo, user)).await
    }
}

fn collaborator(repo: &RepositoryPath, user: &str) -> String {
    format!("{}/collaborators/{}", repo.api(), segment(user))
}
