//! Requests for releases and their files.

use http::{HeaderValue, Method, header};

use super::{Call, Chunks, Client, ClientError, Pages, RepositoryPath, RequestBody, answer, path::segment};
use crate::api::{Attachment, CreateRelease, EditRelease, Release};

impl Client {
    /// Lists the releases of a repository, newest first.
    pub fn releases(&self, repo: &RepositoryPath) -> Pages<'_> {
        Pages::new(self, format!("{}/releases", repo.api()))
    }

    /// Returns the release of a tag.
    pub async fn release(&self, repo: &RepositoryPath, tag: &str) -> Result<Release, ClientError> {
        self.get(&format!("{}/releases/tags/{}", repo.api(), segment(tag))).await
    }

    /// Returns the release with an ID. Unlike [`Self::release`], it also finds drafts.
    pub async fn release_by_id(&self, repo: &RepositoryPath, id: i64) -> Result<Release, ClientError> {
        self.get(&format!("{}/releases/{id}", repo.api())).await
    }

    /// Creates a release.
    pub async fn create_release(&self, repo: &RepositoryPath, request: &CreateRelease) -> Result<Release, ClientError> {
        self.post(&format!("{}/releases", repo.api()), request).await
    }

    /// Changes a release.
    pub async fn edit_release(
        &self,
        repo: &RepositoryPath,
        id: i64,
        request: &EditRelease,
    ) -> Result<Release, ClientError> {
        self.patch(&format!("{}/releases/{id}", repo.api()), request).await
    }

    /// Deletes a release.
    pub async fn delete_release(&self, repo: &RepositoryPath, id: i64) -> Result<(), ClientError> {
        self.delete(&format!("{}/releases/{id}", repo.api())).await
    }

    /// Attaches a file to a release.
    pub async fn upload_to_release(
        &self,
        repo: &RepositoryPath,
        id: i64,
        name: &str,
        body: RequestBody,
    ) -> Result<Attachment, ClientError> {
        let target = format!("{}/releases/{id}/assets?name={}", repo.api(), segment(name));
        let call = Call::new(Method::POST, target)
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))
            .body(body);
        answer::json(self.send(call).await?).await
    }

    /// Downloads a file of a release.
    pub async fn download_from_release(&self, file: &Attachment) -> Result<Chunks, ClientError> {
        let target = format!("/attachments/{}", segment(&file.uuid));
        Ok(Chunks::new(self.send(Call::new(Method::GET, target)).await?.into_body()))
    }
}
