//! The key layout: which key each row and each index entry has.
//!
//! Keys sort the way lists are read. A key is an ASCII tag, a zero byte, then components: ids and
//! times as eight big-endian bytes, texts in lower case with a zero byte behind. `newest` turns an
//! id around so that an ascending scan shows the newest first. The table of all tags is in
//! `docs/storage.md`; a tag is never given another meaning.

mod accounts;
mod artifacts;
mod hooks;
mod repositories;
mod runs;

pub use self::{accounts::*, artifacts::*, hooks::*, repositories::*, runs::*};

use super::{
    engine::{Key, Range},
    ids::Kind,
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

    /// Milliseconds, also before the epoch, in order of time.
    fn time(self, ms: i64) -> Self {
        self.id(ms.cast_unsigned() ^ (1 << 63))
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A text that compares without case. It must hold no zero byte: checked where names are made.
    fn text(mut self, text: &str) -> Self {
        self.0.extend(text.to_lowercase().bytes().filter(|byte| *byte != 0));
        self.0.push(0);
        self
    }

    /// A text that compares with case.
    fn exact(mut self, text: &str) -> Self {
        self.0.extend(text.bytes().filter(|byte| *byte != 0));
        self.0.push(0);
        self
    }

    fn done(self) -> Key {
        self.0
    }
}

/// What all keys with the tag `tag` begin with.
pub fn tag(tag: &str) -> Key {
    Builder::new(tag).done()
}

/// Whether `key` has the tag `tag`.
pub fn has_tag(key: &[u8], tag: &str) -> bool {
    key.strip_prefix(tag.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
}

/// The id that follows the tag.
pub fn first_id(key: &[u8]) -> Option<u64> {
    let tag_end = key.iter().position(|byte| *byte == 0)?;
    Some(u64::from_be_bytes(*key.get(tag_end + 1..)?.first_chunk()?))
}

/// The two ids that follow the tag.
pub fn first_ids(key: &[u8]) -> Option<(u64, u64)> {
    let tag_end = key.iter().position(|byte| *byte == 0)?;
    place_parts(key.get(tag_end + 1..tag_end + 17)?)
}

/// The last eight bytes of `key` as an id: what most index keys end with.
pub fn trailing_id(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.last_chunk()?))
}

/// The last eight bytes of `key` as an id that was written newest first.
pub fn trailing_newest(key: &[u8]) -> Option<u64> {
    trailing_id(key).map(|id| !id)
}

/// The time that follows the tag in a key of a time index.
pub fn leading_time(key: &[u8]) -> Option<i64> {
    let tag_end = key.iter().position(|byte| *byte == 0)?;
    let time: &[u8; 8] = key.get(tag_end + 1..)?.first_chunk()?;
    Some((u64::from_be_bytes(*time) ^ (1 << 63)).cast_signed())
}

/// `m/format`
pub fn format() -> Key {
    Builder::new("m").raw(b"format").done()
}

/// `m/identity`
pub fn identity() -> Key {
    Builder::new("m").raw(b"identity").done()
}

/// `m/key/<kid>`: the secret with number `kid`.
pub fn signing_key(kid: u64) -> Key {
    Builder::new("m").raw(b"key\0").id(kid).done()
}

/// `s/<kind>`
pub fn sequence(kind: Kind) -> Key {
    Builder::new("s").raw(kind.word().as_bytes()).done()
}

/// The last two ids of a key: artifact and generation in `xb/` and `xt/`, repository and push in `gp/`.
pub fn place_parts(key: &[u8]) -> Option<(u64, u64)> {
    let parts: &[u8; 16] = key.last_chunk()?;
    let (artifact, generation) = parts.split_at(8);
    Some((trailing_id(artifact)?, trailing_id(generation)?))
}

/// Entries of a time index that are due: from its begin to `until_ms`, included.
fn due(tag: &str, until_ms: i64) -> Range {
    Range { low: Builder::new(tag).done(), high: Some(Builder::new(tag).time(until_ms.saturating_add(1)).done()) }
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
    fn due_entries_include_their_own_millisecond_and_exclude_the_next() {
        let range = artifact_expiries(7);
        assert!(range.contains(&artifact_expiry(7, u64::MAX)));
        assert!(!range.contains(&artifact_expiry(8, 0)));
    }

    #[test]
    fn names_compare_without_case_and_do_not_run_into_each_other() {
        assert_eq!(repository_name(1, "Demo"), repository_name(1, "dEMO"));
        assert_ne!(artifact_name(1, 2, "x"), artifact_name(1, 2, "X"));
        assert!(!artifact_name(1, 2, "ab").starts_with(&artifact_name(1, 2, "a")));
    }

    #[test]
    fn newest_first_keys_turn_the_order_around_and_give_the_id_back() {
        assert!(repository_run(1, 9) < repository_run(1, 8));
        assert_eq!(trailing_newest(&repository_run(1, 9)), Some(9));
        assert_eq!(place_parts(&garbage(3, 4)), Some((3, 4)));
        assert_eq!(place_parts(&push_mark(3, 4)), Some((3, 4)));
        assert_eq!(ref_tip_name(&ref_tip(3, "refs/heads/x")), Some("refs/heads/x"));
    }
}
