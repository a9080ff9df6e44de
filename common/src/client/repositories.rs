//! Repositories.

use http::StatusCode;

use super::{Client, ClientError, RepositoryPath, path::segment};
use crate::api::{CreateRepository, Repository};

impl Client {
    /// Shows a repository.
    pub async fn repository(&self, path: &RepositoryPath) -> Result<Repository, ClientError> {
        self.get(&path.api()).await
    }

    /// Makes a repository below a user, an organisation or the caller, whichever `owner` is.
    ///
    /// Administrators may use the first route for every user. Where that one has no such user the
    /// owner may be an organisation; where the caller is no administrator it may be the caller.
    /// When nothing fits, the first refusal is the one that tells.
    pub async fn create_repository(&self, owner: &str, wanted: &CreateRepository) -> Result<Repository, ClientError> {
        let refusal = match self.post(&format!("/api/v1/admin/users/{}/repos", segment(owner)), wanted).await {
            Err(refusal) => refusal,
            made => return made,
        };
        let elsewhere = match refusal.status() {
            Some(StatusCode::FORBIDDEN) if self.is_caller(owner).await => "/api/v1/user/repos".to_owned(),
            Some(StatusCode::FORBIDDEN | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) => {
                format!("/api/v1/orgs/{}/repos", segment(owner))
            }
            _ => return Err(refusal),
        };
        self.post(&elsewhere, wanted).await.map_err(|second| match second.status() {
            Some(StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) => refusal,
            _ => second,
        })
    }

    async fn is_caller(&self, owner: &str) -> bool {
        self.current_user().await.is_ok_and(|user| user.login.eq_ignore_ascii_case(owner))
    }
}
