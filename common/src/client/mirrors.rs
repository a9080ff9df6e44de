//! Requests for mirrors.

use http::Method;

use super::{Call, Client, ClientError, Pages, RepositoryPath, answer, path::segment};
use crate::api::{CreatePushMirror, PushMirror, Repository};

impl Client {
    /// Lists the mirrors of all repositories that the caller administers and whose last run failed.
    pub fn failing_mirrors(&self) -> Pages<'_> {
        Pages::new(self, "/api/farrier/v1/mirrors?state=failing".to_owned())
    }

    /// Lists the push mirrors of a repository, oldest first.
    pub fn push_mirrors(&self, repo: &RepositoryPath) -> Pages<'_> {
        Pages::new(self, format!("{}/push_mirrors", repo.api()))
    }

    /// Adds a push mirror to a repository.
    pub async fn add_push_mirror(
        &self,
        repo: &RepositoryPath,
        request: &CreatePushMirror,
    ) -> Result<PushMirror, ClientError> {
        self.post(&format!("{}/push_mirrors", repo.api()), request).await
    }

    /// Deletes a push mirror of a repository.
    pub async fn delete_push_mirror(&self, repo: &RepositoryPath, name: &str) -> Result<(), ClientError> {
        self.delete(&format!("{}/push_mirrors/{}", repo.api(), segment(name))).await
    }

    /// Runs all push mirrors of a repository and waits for them.
    pub async fn sync_push_mirrors(&self, repo: &RepositoryPath) -> Result<(), ClientError> {
        let call = Call::new(Method::POST, format!("{}/push_mirrors-sync", repo.api()));
        answer::drain(self.send(call).await?).await
    }

    /// Requests a sync of a pull mirror, which runs in the background.
    pub async fn sync_mirror(&self, repo: &RepositoryPath) -> Result<(), ClientError> {
        let call = Call::new(Method::POST, format!("{}/mirror-sync", repo.api()));
        answer::drain(self.send(call).await?).await
    }

    /// Converts a pull mirror to a normal repository.
    pub async fn convert_mirror(&self, repo: &RepositoryPath) -> Result<Repository, ClientError> {
        answer::json(self.send(Call::new(Method::POST, format!("{}/convert", repo.api()))).await?).await
    }
}
