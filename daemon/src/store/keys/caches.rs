//! Keys of cache entries and their indexes.

use sha2::{Digest as _, Sha256};

use super::{Builder, due};
use crate::store::engine::{Key, Range};

/// Bytes of a cache key in the index. Longer keys are cut there and end with their hash, because a key of the store
/// has at most 512 bytes.
const KEY_BYTES: usize = 400;

/// What identifies a cache entry within its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSlot<'a> {
    /// Full name of the ref.
    pub git_ref: &'a str,
    /// The version.
    pub version: &'a str,
    /// The key, or a prefix of keys.
    pub key: &'a str,
}

impl CacheSlot<'_> {
    /// Appends the hash of ref and version.
    fn group(&self, builder: Builder) -> Builder {
        let mut hash = Sha256::new();
        for text in [self.git_ref, self.version] {
            hash.update(text.len().to_be_bytes());
            hash.update(text);
        }
        builder.raw(&hash.finalize())
    }

    fn exact(&self, tag: &str, repository: u64) -> Key {
        let key = self.group(Builder::new(tag).id(repository)).raw(self.indexed());
        if self.key.len() <= KEY_BYTES { key.build() } else { key.raw(&Sha256::digest(self.key)).build() }
    }

    /// Returns the part of the key that is in the index as it is.
    fn indexed(&self) -> &[u8] {
        let bytes = self.key.as_bytes();
        bytes.get(..KEY_BYTES).unwrap_or(bytes)
    }
}

/// `ce/<eid>`
pub fn cache_entry(id: u64) -> Key {
    Builder::new("ce").id(id).build()
}

/// `ck/<rid>/<hash of ref and version><key>`: the entry with content that has this key.
pub fn cache_key(repository: u64, slot: CacheSlot<'_>) -> Key {
    slot.exact("ck", repository)
}

/// The entries with content whose keys begin with `slot.key`. Of a long prefix only the first part counts, so that the
/// range may have more entries.
pub fn cache_keys(repository: u64, slot: CacheSlot<'_>) -> Range {
    Range::prefix(slot.group(Builder::new("ck").id(repository)).raw(slot.indexed()).build())
}

/// The entries with content that have the ref and the version of `slot`.
pub fn cache_group(repository: u64, slot: CacheSlot<'_>) -> Range {
    Range::prefix(slot.group(Builder::new("ck").id(repository)).build())
}

/// `cp/<rid>/<hash of ref and version><key>`: the reserved entry that has this key.
pub fn cache_reservation(repository: u64, slot: CacheSlot<'_>) -> Key {
    slot.exact("cp", repository)
}

/// Prefix of `cp/<rid>/`.
pub fn cache_reservations(repository: u64) -> Key {
    Builder::new("cp").id(repository).build()
}

/// `ca/<rid>/<accessed>/<eid>`: entries with content of a repository by last access.
pub fn cache_access(repository: u64, accessed_ms: i64, entry: u64) -> Key {
    Builder::new("ca").id(repository).time(accessed_ms).id(entry).build()
}

/// Prefix of `ca/<rid>/`.
pub fn cache_accesses(repository: u64) -> Key {
    Builder::new("ca").id(repository).build()
}

/// `cc/<rid>/<eid>`: entries with content of a repository by creation.
pub fn cache_creation(repository: u64, entry: u64) -> Key {
    Builder::new("cc").id(repository).id(entry).build()
}

/// Prefix of `cc/<rid>/`.
pub fn cache_creations(repository: u64) -> Key {
    Builder::new("cc").id(repository).build()
}

/// `cz/<rid>/<size>/<eid>`: entries with content of a repository by size.
pub fn cache_size(repository: u64, size: u64, entry: u64) -> Key {
    Builder::new("cz").id(repository).id(size).id(entry).build()
}

/// Prefix of `cz/<rid>/`.
pub fn cache_sizes(repository: u64) -> Key {
    Builder::new("cz").id(repository).build()
}

/// Returns the size in a key of `cz/`.
pub fn cached_size(key: &[u8]) -> Option<u64> {
    super::trailing_ids(key).map(|(size, _)| size)
}

/// `cx/<accessed>/<eid>`: all entries with content by last access.
pub fn cache_age(accessed_ms: i64, entry: u64) -> Key {
    Builder::new("cx").time(accessed_ms).id(entry).build()
}

/// The range of `cx` up to and including `until_ms`.
pub fn cache_ages(until_ms: i64) -> Range {
    due("cx", until_ms)
}

/// `cq/<check>/<eid>`: reserved entries by the time at which the sweep checks them.
pub fn cache_check(check_ms: i64, entry: u64) -> Key {
    Builder::new("cq").time(check_ms).id(entry).build()
}

/// The range of `cq` up to and including `until_ms`.
pub fn cache_checks(until_ms: i64) -> Range {
    due("cq", until_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(key: &str) -> CacheSlot<'_> {
        CacheSlot { git_ref: "refs/heads/main", version: "v", key }
    }

    #[test]
    fn the_longest_keys_fit_and_differ() {
        let long = |last: &str| format!("{}{last}", "\u{10000}".repeat(511));
        let keys = [long("a"), long("b"), long("")[..KEY_BYTES].to_owned()];
        let stored: Vec<Key> = keys.iter().map(|key| cache_key(1, slot(key))).collect();
        assert!(stored.iter().all(|key| key.len() <= crate::store::engine::KEY_MAX_BYTES));
        assert!(stored[0] != stored[1] && stored[1] != stored[2]);
        for prefix in [&keys[0], &keys[2], "\u{10000}"] {
            assert!(cache_keys(1, slot(prefix)).contains(&stored[0]));
        }
    }

    #[test]
    fn refs_and_versions_are_separate() {
        let of = |git_ref, version| cache_key(1, CacheSlot { git_ref, version, key: "k" });
        assert_ne!(of("ab", "c"), of("a", "bc"));
        assert!(!cache_keys(1, slot("k")).contains(&of("ab", "c")));
        assert!(cache_keys(1, slot("k")).contains(&cache_key(1, slot("k"))));
        assert!(!cache_keys(1, slot("k")).contains(&cache_key(1, slot("K"))));
        assert_eq!(cached_size(&cache_size(1, 7, 2)), Some(7));
    }
}
