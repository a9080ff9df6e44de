//! Requests for artifacts of one repository or of all repositories.

use http::{Method, StatusCode, header};

use super::{Call, Client, ClientError, Pages, RepositoryPath, SignedUrl, answer, path::segment};
use crate::api::{Artifact, Artifacts, DeleteArtifacts, DeletedArtifacts, EditArtifact, FoundArtifact};

const ARTIFACTS: &str = "/api/farrier/v1/artifacts";
/// Most artifacts that one request may delete.
pub const DELETE_MAX: usize = 1_000;

impl Pages<'_> {
    /// Returns the next page of a list of artifacts.
    pub async fn next_artifacts(&mut self) -> Result<Option<Vec<Artifact>>, ClientError> {
        self.next(|page: Artifacts| (page.total_count, page.artifacts), |artifact| artifact.id).await
    }
}

/// Filters the artifacts of all repositories. Empty and absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactFilter {
    /// Only this repository.
    pub repository: Option<RepositoryPath>,
    /// Only this run.
    pub run: Option<i64>,
    /// Only this name.
    pub name: String,
    /// `uploading`, `ready` or `expired`; empty for `ready` and `expired`.
    pub state: String,
    /// Only artifacts that expire before this time, RFC 3339, the first to expire first; empty for all.
    pub expires_before: String,
}

impl Client {
    /// Lists the artifacts of all repositories that the caller may read: the newest first, or with `expires_before` the
    /// first to expire first.
    pub fn all_artifacts(&self, filter: &ArtifactFilter) -> Pages<'_> {
        let repository = filter.repository.as_ref().map(RepositoryPath::to_string).unwrap_or_default();
        let run = filter.run.map(|run| run.to_string()).unwrap_or_default();
        let pairs = [
            ("repository", &repository),
            ("run", &run),
            ("name", &filter.name),
            ("state", &filter.state),
            ("expires_before", &filter.expires_before),
        ];
        let given = pairs.iter().filter(|(_, value)| !value.is_empty());
        let query: Vec<String> = given.map(|(name, value)| format!("{name}={}", segment(value))).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        Pages::new(self, format!("{ARTIFACTS}{mark}{}", query.join("&")))
    }

    /// Returns an artifact of any repository.
    pub async fn any_artifact(&self, id: i64) -> Result<FoundArtifact, ClientError> {
        self.get(&format!("{ARTIFACTS}/{id}")).await
    }

    /// Sets the expiry of an artifact of any repository.
    pub async fn edit_artifact(&self, id: i64, request: &EditArtifact) -> Result<FoundArtifact, ClientError> {
        self.patch(&format!("{ARTIFACTS}/{id}"), request).await
    }

    /// Deletes at most [`DELETE_MAX`] artifacts of any repositories and returns the result for each.
    pub async fn delete_artifacts(&self, ids: &[i64]) -> Result<DeletedArtifacts, ClientError> {
        self.post(&format!("{ARTIFACTS}/deletions"), &DeleteArtifacts { ids: ids.to_vec() }).await
    }

    /// Lists the artifacts of a repository or of one of its runs, newest first, optionally only those with one
    /// name.
    pub fn artifacts(&self, repo: &RepositoryPath, run: Option<i64>, name: Option<&str>) -> Pages<'_> {
        let run = run.map_or_else(String::new, |run| format!("runs/{run}/"));
        let filter = name.map_or_else(String::new, |name| format!("?name={}", segment(name)));
        let target = format!("{}/actions/{run}artifacts{filter}", repo.api());
        Pages::new(self, target)
    }

    /// Returns an artifact.
    pub async fn artifact(&self, repo: &RepositoryPath, id: i64) -> Result<Artifact, ClientError> {
        self.get(&format!("{}/actions/artifacts/{id}", repo.api())).await
    }

    /// Deletes an artifact.
    pub async fn delete_artifact(&self, repo: &RepositoryPath, id: i64) -> Result<(), ClientError> {
        self.delete(&format!("{}/actions/artifacts/{id}", repo.api())).await
    }

    /// Returns the location of an artifact's content. The daemon responds with a redirect to a signed URL.
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
        let url = url.ok_or(ClientError::Answer { what: "its redirect has no target" })?;
        answer::drain(reply).await?;
        Ok(url)
    }
}
