//! Compact representation of a cache entry for lists.
//!
//! Contains all fields of the API. The version is stored once for neighbors that have the same.

use std::sync::Arc;

use farrier_common::api::FoundCacheEntry;

use super::{
    compact::{PackedTexts, SharedValues, short_seconds},
    words,
};

/// The places of texts among those of an entry.
const KEY: usize = 0;
const REF: usize = 1;
const REPOSITORY: usize = 2;

/// A cache entry of a workflow job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheSummary {
    pub(crate) id: i64,
    /// Key, full name of the ref, and repository.
    texts: PackedTexts<3>,
    version: Arc<str>,
    /// Bytes.
    pub(crate) size: i64,
    pub(crate) hits: i64,
    /// Seconds since 1970; 0 for none.
    used: u32,
    created: u32,
}

impl CacheSummary {
    pub(crate) fn key(&self) -> &str {
        self.texts.get(KEY)
    }

    /// Returns the full name of the ref.
    pub(crate) fn git_ref(&self) -> &str {
        self.texts.get(REF)
    }

    /// Returns the repository, `owner/name`.
    pub(crate) fn repository(&self) -> &str {
        self.texts.get(REPOSITORY)
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Returns the time of the last use in seconds since 1970; 0 for none.
    pub(crate) fn used(&self) -> i64 {
        self.used.into()
    }

    /// Returns when its upload started in seconds since 1970; 0 for none.
    pub(crate) fn created(&self) -> i64 {
        self.created.into()
    }

    /// Returns the entry as the daemon sent it.
    pub(crate) fn entry(&self) -> FoundCacheEntry {
        FoundCacheEntry {
            id: self.id,
            repository: self.repository().to_owned(),
            git_ref: self.git_ref().to_owned(),
            key: self.key().to_owned(),
            version: self.version().to_owned(),
            last_accessed_at: words::rfc3339(self.used()),
            created_at: words::rfc3339(self.created()),
            size_in_bytes: self.size,
            hits: self.hits,
        }
    }
}

/// Converts cache entries to the compact form and shares their versions.
#[derive(Debug, Default)]
pub(crate) struct CacheCompactor {
    versions: SharedValues<str>,
}

impl CacheCompactor {
    pub(crate) fn compact(&mut self, entry: &FoundCacheEntry) -> CacheSummary {
        CacheSummary {
            id: entry.id,
            texts: PackedTexts::of([&entry.key, &entry.git_ref, &entry.repository]),
            version: self.versions.share_text(&entry.version),
            size: entry.size_in_bytes,
            hits: entry.hits,
            used: short_seconds(&entry.last_accessed_at),
            created: short_seconds(&entry.created_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::compact::row_bytes, *};

    fn entry() -> FoundCacheEntry {
        FoundCacheEntry {
            id: 41,
            repository: "infra/gateway".to_owned(),
            git_ref: "refs/heads/main".to_owned(),
            key: "linux-cargo-日本語-5f2a".to_owned(),
            version: "8c1f0b2e".repeat(8),
            last_accessed_at: "2026-11-21T11:55:00Z".to_owned(),
            created_at: "0001-01-01T00:00:00Z".to_owned(),
            size_in_bytes: 3 << 30,
            hits: 1_204,
        }
    }

    #[test]
    fn compacting_preserves_all_fields_of_a_cache_entry() {
        let mut compactor = CacheCompactor::default();
        for entry in [entry(), FoundCacheEntry { id: 42, version: String::new(), hits: 0, ..entry() }] {
            assert_eq!(compactor.compact(&entry).entry(), entry);
        }
    }

    #[test]
    fn a_cache_entry_with_a_common_version_takes_few_bytes() {
        let mut compactor = CacheCompactor::default();
        let (one, other) = (compactor.compact(&entry()), compactor.compact(&FoundCacheEntry { id: 42, ..entry() }));
        assert!(Arc::ptr_eq(&one.version, &other.version));
        let bytes = row_bytes::<CacheSummary>(&[one.texts.heap_bytes()]);
        assert!(bytes <= 180, "{bytes} bytes a row");
    }
}
