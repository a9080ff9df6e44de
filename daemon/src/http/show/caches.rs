//! Converts cache entries.

use farrier_common::api;
use farrier_proto::store::CacheEntry;

use super::{number, time};
use crate::store::range_counts::Total;

/// Converts a cache entry.
pub(in crate::http) fn cache_entry(row: &CacheEntry) -> api::CacheEntry {
    api::CacheEntry {
        id: number(row.id),
        git_ref: row.git_ref.clone(),
        key: row.key.clone(),
        version: row.version.clone(),
        last_accessed_at: time(row.accessed_ms),
        created_at: time(row.created_ms),
        size_in_bytes: number(row.content.as_ref().map_or(0, |content| content.size)),
    }
}

/// Converts a cache entry of the repository `path` for a list of several repositories.
pub(in crate::http) fn found_cache_entry(row: &CacheEntry, path: &str) -> api::FoundCacheEntry {
    let api::CacheEntry { id, git_ref, key, version, last_accessed_at, created_at, size_in_bytes } = cache_entry(row);
    api::FoundCacheEntry {
        id,
        repository: path.to_owned(),
        git_ref,
        key,
        version,
        last_accessed_at,
        created_at,
        size_in_bytes,
        hits: number(row.hits),
    }
}

/// Converts the total of the cache entries of the repository `path`.
pub(in crate::http) fn cache_usage(path: String, total: Total) -> api::CacheUsage {
    api::CacheUsage {
        full_name: path,
        active_caches_size_in_bytes: number(total.size_bytes),
        active_caches_count: number(total.count),
    }
}
