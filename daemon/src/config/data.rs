//! The settings of stored data: the store, artifacts, cache entries and LFS objects.

use std::{path::PathBuf, time::Duration};

use url::Url;

use super::StoreUrl;

/// Where the store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreEngine {
    /// A file in the data directory.
    Redb,
    /// A PostgreSQL server.
    Postgres,
}

/// `[store]`
#[derive(Clone, Debug, PartialEq)]
pub struct StoreConfig {
    /// `engine`
    pub engine: StoreEngine,
    /// `url`: the PostgreSQL server. Set if the engine is `postgres`, and for `farrierd store copy`.
    pub url: Option<StoreUrl>,
    /// `password_file`: file with the password for the PostgreSQL server, or the name of a credential. `None`: the
    /// server needs no password.
    pub password_file: Option<PathBuf>,
    /// `ca_file`: certificate authorities of the PostgreSQL server, in PEM. `None`: those of the system.
    pub ca_file: Option<PathBuf>,
    /// `max_connections`: connections to the PostgreSQL server.
    pub max_connections: usize,
    /// `cache_mib`: memory for the page cache of the store.
    pub cache_mib: usize,
    /// `quick_repair`: opens the store quickly after a crash, at half the write rate.
    pub quick_repair: bool,
    /// `verify_mib`: the largest store that is verified at each start. 0: none.
    pub verify_mib: u64,
    /// `key_file`: file with the key that encrypts secrets. `None`: a file in the data directory.
    pub key_file: Option<PathBuf>,
    /// Not a setting: where the service manager puts the key, if it provides one. It takes precedence.
    pub key_credential: Option<PathBuf>,
}

/// `[storage]`: settings for all kinds of data.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageConfig {
    /// `set_aside_days`: retention of deleted repositories and artifacts and of data that was set aside. 0: none.
    pub set_aside_days: u32,
}

/// What happens when an artifact with the name of a finalized artifact is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The new upload is refused.
    Reject,
    /// The new artifact replaces the old one when it is finalized.
    Replace,
}

/// The scope in which artifact names are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UniquePer {
    /// The run, as on GitHub.
    Run,
    /// The job: several jobs of a run may use the same name.
    Job,
}

/// `[artifacts]`
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactsConfig {
    /// `on_duplicate`
    pub on_duplicate: OnDuplicate,
    /// `unique_per`
    pub unique_per: UniquePer,
    /// `signed_url_secs`: validity of signed addresses.
    pub signed_url: Duration,
    /// `base_url`: base of signed addresses. `None`: the host of the request.
    pub base_url: Option<Url>,
    /// `vendors`: vendors in the service names of Twirp routes.
    pub vendors: Vec<String>,
    /// `max_bytes`: largest artifact.
    pub max_bytes: u64,
    /// `quota_bytes`: maximum total size of finalized artifacts of one repository. 0: unlimited.
    pub quota_bytes: u64,
    /// `reserve_bytes`: free disk space below which uploads are refused.
    pub reserve_bytes: u64,
    /// `retention_days`: default retention of artifacts.
    pub retention_days: u32,
    /// `max_retention_days`: longest retention of artifacts.
    pub max_retention_days: u32,
    /// `abandoned_secs`: time after which an upload that is not finalized is deleted.
    pub abandoned: Duration,
    /// `max_uploads`: blocks that are received at the same time. Further requests get 429 or 503.
    pub max_uploads: usize,
}

/// `[caches]`: the caches of workflow jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct CachesConfig {
    /// `max_bytes`: largest cache entry. 0: unlimited.
    pub max_bytes: u64,
    /// `quota_bytes`: maximum total size of the cache entries of one repository. 0: unlimited.
    pub quota_bytes: u64,
    /// `total_bytes`: maximum total size of all cache entries. 0: unlimited.
    pub total_bytes: u64,
    /// `retention_days`: time without access after which an entry is deleted. 0: never.
    pub retention_days: u32,
}

impl CachesConfig {
    /// Returns the size of the largest entry that all limits allow.
    pub fn largest_entry(&self) -> u64 {
        let limits = [self.max_bytes, self.quota_bytes, self.total_bytes];
        limits.into_iter().filter(|limit| *limit != 0).min().unwrap_or(u64::MAX)
    }
}

/// `[lfs]`: Git LFS.
#[derive(Clone, Debug, PartialEq)]
pub struct LfsConfig {
    /// `enabled`: whether the routes of Git LFS answer.
    pub enabled: bool,
    /// `max_object_bytes`: largest object. 0: unlimited.
    pub max_object_bytes: u64,
    /// `quota_bytes`: maximum total size of the objects in all repositories of one owner. 0: unlimited.
    pub quota_bytes: u64,
    /// `address_secs`: validity of signed addresses of objects.
    pub address: Duration,
    /// `keep_unreferenced_secs`: how long a repository keeps an object that none of its files names. Zero: always.
    pub keep_unreferenced: Duration,
}
