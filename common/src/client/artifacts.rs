//! Artifacts as the REST API shows them.

use http::{Method, StatusCode, header};

use super::{Call, Client, ClientError, Pages, RepositoryPath, SignedUrl, answer, path::segment};
use crate::api::{Artifact, Artifacts};

impl Pages<'_> {
    /// The next page of a list of artifacts.
    pub async fn next_artifacts(&mut self) -> Result<Option<Vec<Artifact>>, ClientError> {
        self.next(|page: Artifacts| (page.total_count, page.artifacts), |artifact| artifact.id).await
    }
}

impl Client {
    /// The artifacts of a repository or of one of its runs, newest first, all or those of one name.
    pub fn artifacts(&self, repo: &RepositoryPath, run: Option<i64>, name: Option<&str>) -> Pages<'_> {
        let run = run.map_or_else(String::new, |run| format!("runs/{run}/"));
        let filter = name.map_or_else(String::new, |name| format!("?name={}", segment(name)));
        let target = format!("{}/actions/{run}artifacts{filter}", repo.api());
        Pages::new(self, target)
    }

    /// Shows an artifact.
    pub async fn artifact(&self, repo: &RepositoryPath, id: i64) -> Result<Artifact, ClientError> {
        self.get(&format!("{}/actions/artifacts/{id}", repo.api())).await
    }

    /// Deletes an artifact.
    pub async fn delete_artifact(&self, repo: &RepositoryPath, id: i64) -> Result<(), ClientError> {
        self.delete(&format!("{}/actions/artifacts/{id}", repo.api())).await
    }

    /// Where the bytes of an artifact are: the daemon answers with a redirect to a signed address.
    pub async fn artifact_location(&self, repo: &RepositoryPath, id: i64) -> Result<SignedUrl, ClientError> {
        let target = format!("{}/actions/artifacts/{id}/zip", repo.api());
        let reply = self.stream(Call::new(Method::GET, target)).await?;
        if reply.status() != StatusCode::FOUND {
            let reply = answer::successful(reply).await?;
            drop(reply);
            return Err(ClientError::Answer { what: "a redirect to the artifact's bytes was expected" });
        }
        let location = reply.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let url = location.and_then(SignedUrl::new);
        let url = url.ok_or(ClientError::Answer { what: "its redirect leads nowhere" })?;
        answer::drain(reply).await?;
        Ok(url)
    }
}
