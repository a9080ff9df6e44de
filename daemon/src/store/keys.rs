//! The key layout: the keys of all rows and index entries.
//!
//! Keys sort in the order in which lists are read. A key consists of an ASCII tag, a zero byte and components:
//! ids and times as eight big-endian bytes, texts in lower case with a zero byte at the end.
//! `Builder::newest` inverts an id, so that an ascending scan returns the newest first. `docs/storage.md` has
//! a table of all tags. A tag is never reused with another meaning.

mod accounts;
mod artifacts;
mod audit;
mod caches;
mod gpg_keys;
mod hooks;
mod interests;
mod lfs;
mod mirrors;
mod nodes;
mod ref_rules;
mod refs;
mod releases;
mod repositories;
mod ssh_keys;
mod statuses;
mod summaries;
mod teams;

pub use self::{
    accounts::*, artifacts::*, audit::*, caches::*, gpg_keys::*, hooks::*, interests::*, lfs::*, mirrors::*, nodes::*,
    ref_rules::*, refs::*, releases::*, repositories::*, ssh_keys::*, statuses::*, summaries::*, teams::*,
};

use super::{
    engine::{Key, Range},
    ids::IdKind,
};

/// Builds one key.
struct Builder(Key);

impl Builder {
    fn new(tag: &str) -> Self {
        let mut key = Vec::with_capacity(48);
        key.extend_from_slice(tag.as_bytes());
        key.push(0);
        Self(key)
    }

    fn id(mut self, id: u64) -> Self {
        self.0.extend_from_slice(&id.to_be_bytes());
        self
    }

    fn newest(self, id: u64) -> Self {
        self.id(!id)
    }

    /// Appends a time in milliseconds, which may be negative. The bytes sort in order of time.
    fn time(self, ms: i64) -> Self {
        self.id(ms.cast_unsigned() ^ (1 << 63))
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends a text that compares without case. Names contain no zero bytes; they are validated when they are
    /// created.
    fn text(mut self, text: &str) -> Self {
        self.0.extend(text.to_lowercase().bytes().filter(|byte| *byte != 0));
        self.0.push(0);
        self
    }

    /// Appends a text that compares with case.
    fn exact(mut self, text: &str) -> Self {
        self.0.extend(text.bytes().filter(|byte| *byte != 0));
        self.0.push(0);
        self
    }

    fn build(self) -> Key {
        self.0
    }
}

/// Returns the prefix of all keys with the tag `tag`.
pub fn tag(tag: &str) -> Key {
    Builder::new(tag).build()
}

/// Returns whether `key` has the tag `tag`.
pub fn has_tag(key: &[u8], tag: &str) -> bool {
    key.strip_prefix(tag.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
}

/// Returns the id after the tag.
pub fn first_id(key: &[u8]) -> Option<u64> {
    let tag_end = key.iter().position(|byte| *byte == 0)?;
    Some(u64::from_be_bytes(*key.get(tag_end + 1..)?.first_chunk()?))
}

/// Returns the two ids after the tag.
pub fn first_ids(key: &[u8]) -> Option<(u64, u64)> {
    let tag_end = key.iter().position(|byte| *byte == 0)?;
    trailing_ids(key.get(tag_end + 1..tag_end + 17)?)
}

/// Returns the last eight bytes of `key` as an id. Most index keys end with an id.
pub fn trailing_id(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.last_chunk()?))
}

/// Returns the last eight bytes of `key` as an id that is sorted newest first.
pub fn trailing_newest(key: &[u8]) -> Option<u64> {
    trailing_id(key).map(|id| !id)
}

/// Returns the time after the tag in a key of a time index.
pub fn leading_time(key: &[u8]) -> Option<i64> {
    let tag_end = key.iter().position(|byte| *byte == 0)?;
    let time: &[u8; 8] = key.get(tag_end + 1..)?.first_chunk()?;
    Some((u64::from_be_bytes(*time) ^ (1 << 63)).cast_signed())
}

/// `m/format`
pub fn format() -> Key {
    Builder::new("m").raw(b"format").build()
}

/// `m/copying`: exists while the store is an incomplete copy of another one.
pub fn copying() -> Key {
    Builder::new("m").raw(b"copying").build()
}

/// `m/identity`
pub fn identity() -> Key {
    Builder::new("m").raw(b"identity").build()
}

/// `m/key/<kid>`: the signing key with number `kid`. 1: the key of the daemon; from 2: keys of ID tokens.
pub fn signing_key(kid: u64) -> Key {
    Builder::new("m").raw(b"key\0").id(kid).build()
}

/// Returns the prefix of all signing keys.
pub fn signing_keys() -> Key {
    Builder::new("m").raw(b"key\0").build()
}

/// `m/order`: the base of the orders of transactions.
pub fn order_base() -> Key {
    Builder::new("m").raw(b"order").build()
}

/// `m/repository-orders`: the number of orders in which all repositories are listed.
pub fn repository_orders() -> Key {
    Builder::new("m").raw(b"repository-orders").build()
}

/// `m/backup`: the last backup.
pub fn last_backup() -> Key {
    Builder::new("m").raw(b"backup").build()
}

/// `m/removal-hold`: the hold of a backup that runs on one of the nodes.
pub fn removal_hold() -> Key {
    Builder::new("m").raw(b"removal-hold").build()
}

/// `m/sealing`
pub fn sealing() -> Key {
    Builder::new("m").raw(b"sealing").build()
}

/// `s/<kind>`
pub fn sequence(kind: IdKind) -> Key {
    Builder::new("s").raw(kind.name().as_bytes()).build()
}

/// Returns the last two ids of a key: artifact and generation in `xb/` and `xt/`, repository and push in `gp/`.
pub fn trailing_ids(key: &[u8]) -> Option<(u64, u64)> {
    let parts: &[u8; 16] = key.last_chunk()?;
    let (first, second) = parts.split_at(8);
    Some((trailing_id(first)?, trailing_id(second)?))
}

/// Returns the entries of a time index up to and including `until_ms`.
fn due(tag: &str, until_ms: i64) -> Range {
    Range { low: Builder::new(tag).build(), high: Some(Builder::new(tag).time(until_ms.saturating_add(1)).build()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sort_across_the_epoch() {
        let mut keys = [job_deadline(5, 1), job_deadline(-5, 1), job_deadline(0, 1)];
        keys.sort();
        assert_eq!(keys, [job_deadline(-5, 1), job_deadline(0, 1), job_deadline(5, 1)]);
        assert_eq!(keys.map(|key| leading_time(&key)), [Some(-5), Some(0), Some(5)]);
    }

    #[test]
    fn due_entries_include_the_limit_and_exclude_the_next_millisecond() {
        let range = artifact_expiries(7);
        assert!(range.contains(&artifact_expiry(7, u64::MAX)));
        assert!(!range.contains(&artifact_expiry(8, 0)));
    }

    #[test]
    fn names_compare_without_case_and_are_not_prefixes_of_each_other() {
        assert_eq!(repository_name(1, "Demo"), repository_name(1, "dEMO"));
        assert_ne!(artifact_name(1, 2, "x"), artifact_name(1, 2, "X"));
        assert!(!artifact_name(1, 2, "ab").starts_with(&artifact_name(1, 2, "a")));
    }

    #[test]
    fn newest_first_keys_sort_in_reverse_and_return_the_id() {
        assert!(repository_run(1, 9) < repository_run(1, 8));
        assert_eq!(trailing_newest(&repository_run(1, 9)), Some(9));
        assert_eq!(trailing_ids(&garbage(3, 4)), Some((3, 4)));
        assert_eq!(trailing_ids(&push_mark(3, 4)), Some((3, 4)));
    }
}
