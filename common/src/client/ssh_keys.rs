//! Requests for SSH keys of accounts, and for deploy keys.

use super::{Client, ClientError, Pages, RepositoryPath, path::segment};
use crate::api::{CreateKey, DeployKey, PublicKey};

impl Client {
    /// Lists the SSH keys of the caller, or of the account `user`.
    pub fn ssh_keys(&self, user: Option<&str>) -> Pages<'_> {
        let target =
            user.map_or("/api/v1/user/keys".to_owned(), |user| format!("/api/v1/users/{}/keys", segment(user)));
        Pages::new(self, target)
    }

    /// Adds an SSH key to the account of the caller, or to the account `user`. The latter is only for administrators.
    pub async fn add_ssh_key(&self, user: Option<&str>, request: &CreateKey) -> Result<PublicKey, ClientError> {
        self.post(&managed(user), request).await
    }

    /// Deletes an SSH key of the caller, or of the account `user`. The latter is only for administrators.
    pub async fn delete_ssh_key(&self, user: Option<&str>, id: i64) -> Result<(), ClientError> {
        self.delete(&format!("{}/{id}", managed(user))).await
    }

    /// Lists the deploy keys of a repository.
    pub fn deploy_keys(&self, repo: &RepositoryPath) -> Pages<'_> {
        Pages::new(self, format!("{}/keys", repo.api()))
    }

    /// Adds a deploy key to a repository.
    pub async fn add_deploy_key(&self, repo: &RepositoryPath, request: &CreateKey) -> Result<DeployKey, ClientError> {
        self.post(&format!("{}/keys", repo.api()), request).await
    }

    /// Deletes a deploy key of a repository.
    pub async fn delete_deploy_key(&self, repo: &RepositoryPath, id: i64) -> Result<(), ClientError> {
        self.delete(&format!("{}/keys/{id}", repo.api())).await
    }
}

/// Returns the path at which the keys of the caller or of the account `user` are changed.
fn managed(user: Option<&str>) -> String {
    user.map_or("/api/v1/user/keys".to_owned(), |user| format!("/api/v1/admin/users/{}/keys", segment(user)))
}
