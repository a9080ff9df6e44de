//! Requests for cache entries of one repository or of all repositories.

use super::{Client, ClientError, Pages, RepositoryPath, path::segment};
use crate::api::{CacheUsage, Caches};

const CACHES: &str = "/api/farrier/v1/caches";

/// Filters the cache entries of all repositories. Empty and absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheFilter {
    /// Only this repository.
    pub repository: Option<RepositoryPath>,
    /// Only keys that begin with this text.
    pub key: String,
    /// Only this ref, as a full name.
    pub git_ref: String,
}

impl Client {
    /// Lists the cache entries that the caller may read, most recently used first.
    pub fn caches(&self, filter: &CacheFilter) -> Pages<'_> {
        let repository = filter.repository.as_ref().map(RepositoryPath::to_string).unwrap_or_default();
        let pairs = [("repository", &repository), ("key", &filter.key), ("ref", &filter.git_ref)];
        Pages::new(self, format!("{CACHES}{}", query(&pairs)))
    }

    /// Lists the size and the number of the cache entries of each repository that has some, the largest first.
    pub fn cache_usage_of_all(&self) -> Pages<'_> {
        Pages::new(self, format!("{CACHES}/usage"))
    }

    /// Returns the size and the number of the cache entries of a repository.
    pub async fn cache_usage(&self, repo: &RepositoryPath) -> Result<CacheUsage, ClientError> {
        self.get(&format!("{}/actions/cache/usage", repo.api())).await
    }

    /// Deletes a cache entry.
    pub async fn delete_cache(&self, repo: &RepositoryPath, id: i64) -> Result<(), ClientError> {
        self.delete(&format!("{}/actions/caches/{id}", repo.api())).await
    }

    /// Deletes the cache entries with exactly this key, of one ref or of all refs, and returns them.
    pub async fn delete_caches_by_key(
        &self,
        repo: &RepositoryPath,
        key: &str,
        git_ref: Option<&str>,
    ) -> Result<Caches, ClientError> {
        // An empty ref is sent, so that the daemon refuses it: without it, the entries of all refs would be deleted.
        let git_ref = git_ref.map(|git_ref| format!("&ref={}", segment(git_ref))).unwrap_or_default();
        self.delete_returning(&format!("{}/actions/caches?key={}{git_ref}", repo.api(), segment(key))).await
    }
}

/// Returns a query with the parameters that are not empty.
fn query(pairs: &[(&str, &String)]) -> String {
    let given = pairs.iter().filter(|(_, value)| !value.is_empty());
    let given: Vec<String> = given.map(|(name, value)| format!("{name}={}", segment(value))).collect();
    if given.is_empty() { String::new() } else { format!("?{}", given.join("&")) }
}
