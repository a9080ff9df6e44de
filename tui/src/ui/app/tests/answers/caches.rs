//! Cache entries and the usage of repositories.

use farrier_common::api::{CacheUsage, FoundCacheEntry};

use super::super::prelude::*;
use crate::ui::{cache::CacheCompactor, net::Page};

/// Four entries of two repositories, most recently used first.
pub(in super::super) fn caches() -> Answer {
    let entry = |id, repository: &str, git_ref: &str, key: &str, size_in_bytes, hits, used: &str| FoundCacheEntry {
        id,
        repository: repository.to_owned(),
        git_ref: git_ref.to_owned(),
        key: key.to_owned(),
        version: "8c1f0b2e".repeat(8),
        last_accessed_at: format!("2026-11-21T{used}:00Z"),
        created_at: "2026-11-18T08:00:00Z".to_owned(),
        size_in_bytes,
        hits,
    };
    let items = [
        entry(41, "infra/gateway", "refs/heads/main", "linux-cargo-5f2a", 3 << 30, 1_204, "11:55"),
        entry(44, "infra/gateway", "refs/heads/feature/very-long-name", "linux-cargo-77b0", 2 << 30, 2, "11:20"),
        entry(38, "web/site", "refs/heads/main", "npm-日本語", 180 << 20, 77, "09:00"),
        entry(43, "web/site", "refs/tags/v1", "sccache/4/d/7/4d7f", 900, 0, "08:00"),
    ];
    let mut compactor = CacheCompactor::default();
    let items = items.iter().map(|entry| compactor.compact(entry)).collect();
    Answer::Caches(Page { total: Some(4), items, last: true })
}

pub(in super::super) fn cache_usage() -> Answer {
    let usage = |name: &str, size, count| CacheUsage {
        full_name: name.to_owned(),
        active_caches_size_in_bytes: size,
        active_caches_count: count,
    };
    let items = vec![usage("web/site", (180 << 20) + 900, 2), usage("infra/gateway", 5 << 30, 2)];
    Answer::CacheUsage(Page { total: Some(2), items, last: true })
}
