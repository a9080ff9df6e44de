//! Requests for the content of repositories: commits, directories and files.

use http::Method;

use super::{Call, Chunks, Client, ClientError, Pages, RepositoryPath, path::segment};
use crate::api::Commit;

impl Client {
    /// Lists the commits of a branch, tag or commit, newest first; with a path, only those that changed it.
    pub fn commits(&self, repo: &RepositoryPath, reference: &str, path: &str) -> Pages<'_> {
        let path = if path.is_empty() { String::new() } else { format!("&path={}", segment(path)) };
        let fields = "stat=false&files=false&verification=false";
        Pages::new(self, format!("{}/commits?sha={}&{fields}{path}", repo.api(), segment(reference)))
    }

    /// Lists the commits that the commit `reference` contains and the commit `not` does not contain, newest first.
    pub fn new_commits(&self, repo: &RepositoryPath, not: &str, reference: &str) -> Pages<'_> {
        let fields = "stat=false&files=false&verification=false";
        let target = format!("{}/commits?sha={}&not={}&{fields}", repo.api(), segment(reference), segment(not));
        Pages::new(self, target)
    }

    /// Returns the commit that a branch, tag or commit ID names, with its line counts.
    pub async fn commit(&self, repo: &RepositoryPath, reference: &str) -> Result<Commit, ClientError> {
        let fields = "files=false&verification=false";
        self.get(&format!("{}/git/commits/{}?{fields}", repo.api(), segment(reference))).await
    }

    /// Downloads the diff of a commit as text.
    pub async fn commit_diff(&self, repo: &RepositoryPath, sha: &str) -> Result<Chunks, ClientError> {
        self.chunks(format!("{}/git/commits/{}.diff", repo.api(), segment(sha))).await
    }

    /// Lists the entries of a tree, by name.
    pub fn tree(&self, repo: &RepositoryPath, sha: &str) -> Pages<'_> {
        Pages::new(self, format!("{}/git/trees/{}", repo.api(), segment(sha)))
    }

    /// Downloads a file of a branch, tag or commit. A pointer file of Git LFS is not replaced by its content.
    pub async fn file(&self, repo: &RepositoryPath, path: &str, reference: &str) -> Result<Chunks, ClientError> {
        let segments: Vec<String> = path.split('/').map(|name| segment(name).to_string()).collect();
        self.chunks(format!("{}/raw/{}?ref={}", repo.api(), segments.join("/"), segment(reference))).await
    }

    async fn chunks(&self, target: String) -> Result<Chunks, ClientError> {
        Ok(Chunks::new(self.send(Call::new(Method::GET, target)).await?.into_body()))
    }
}
