//! Cache entries of workflow jobs.

use serde::{Deserialize, Serialize};

/// A page of cache entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Caches {
    /// Number of matching entries on all pages.
    pub total_count: i64,
    /// The entries.
    pub actions_caches: Vec<CacheEntry>,
}

/// A cache entry. Times are RFC 3339, whole seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CacheEntry {
    /// Id of the entry.
    pub id: i64,
    /// Full name of the ref whose jobs wrote the entry.
    #[serde(rename = "ref")]
    pub git_ref: String,
    /// The key.
    pub key: String,
    /// The version: a hash of what the client caches and how.
    pub version: String,
    /// Time of the last use by a job. Updated with a delay of up to one minute.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_accessed_at: String,
    /// When its upload started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// Size, bytes.
    pub size_in_bytes: i64,
}

/// The cache entries of a repository together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CacheUsage {
    /// The repository, `owner/name`.
    pub full_name: String,
    /// Total size, bytes.
    pub active_caches_size_in_bytes: i64,
    /// Number of entries.
    pub active_caches_count: i64,
}

/// A cache entry in a list of several repositories: the fields of [`CacheEntry`] with its repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct FoundCacheEntry {
    /// Id of the entry.
    pub id: i64,
    /// The repository, `owner/name`.
    pub repository: String,
    /// Full name of the ref whose jobs wrote the entry.
    #[serde(rename = "ref")]
    pub git_ref: String,
    /// The key.
    pub key: String,
    /// The version: a hash of what the client caches and how.
    pub version: String,
    /// Time of the last use by a job. Updated with a delay of up to one minute.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub last_accessed_at: String,
    /// When its upload started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// Size, bytes.
    pub size_in_bytes: i64,
    /// Number of lookups of jobs that found the entry. Updated with a delay of up to one minute.
    pub hits: i64,
}
