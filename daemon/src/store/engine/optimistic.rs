//! Optimistic concurrency, for engines whose commits are decided in one place.
//!
//! A transaction notes what it reads; at its commit that is compared with what others have
//! committed since it began. Pure bookkeeping: no storage, no locks, no time.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use super::{EngineError, KEY_MAX_BYTES, Key, Range, Scan, VALUE_MAX_BYTES, WriteSet};

/// Number of a commit; later commits have greater ones.
pub(super) type Version = u64;

/// Keys of earlier commits that are remembered. A transaction that began before the oldest of
/// them conflicts without looking, so this must last for the longest transaction.
pub(super) const RECENT_KEYS_MAX: usize = 32_768;

/// What one transaction has read.
#[derive(Debug, Default)]
pub(super) struct Reads {
    keys: Vec<Key>,
    ranges: Vec<Range>,
}

impl Reads {
    /// `key` was looked up, whether or not it was there.
    pub(super) fn key(&mut self, key: &[u8]) {
        self.keys.push(key.to_vec());
    }

    /// All of `keys` were looked up.
    pub(super) fn keys(&mut self, keys: &[Key]) {
        self.keys.extend_from_slice(keys);
    }

    /// `scan` was walked. `stopped_at` is the last key visited by a walk that ended before its
    /// range did: what lies behind that key was not seen, and may change.
    pub(super) fn scan(&mut self, scan: &Scan, stopped_at: Option<&[u8]>) {
        let mut seen = scan.range.clone();
        match stopped_at {
            Some(last) if scan.reverse => seen.low = last.to_vec(),
            Some(last) => seen.high = Some([last, &[0]].concat()),
            None => {}
        }
        self.ranges.push(seen);
    }
}

/// Which keys were written when, back to a bound.
#[derive(Debug)]
pub(super) struct RecentWrites {
    /// Commits up to this one are forgotten, at least in part.
    forgotten: Version,
    /// The last commit that wrote each key.
    versions: BTreeMap<Arc<[u8]>, Version>,
    /// Every remembered write, the oldest first.
    order: VecDeque<(Version, Arc<[u8]>)>,
    keys_max: usize,
}

impl RecentWrites {
    /// Remembers up to `keys_max` writes.
    pub(super) fn new(keys_max: usize) -> Self {
        Self { forgotten: 0, versions: BTreeMap::new(), order: VecDeque::new(), keys_max }
    }

    /// Whether anything in `reads`, made at version `since`, may have changed.
    pub(super) fn conflicts(&self, since: Version, reads: &Reads) -> bool {
        if since < self.forgotten {
            return true;
        }
        let changed = |version: &Version| *version > since;
        reads.keys.iter().any(|key| self.versions.get(key.as_slice()).is_some_and(changed))
            || reads.ranges.iter().any(|range| {
                let mut written = self.versions.range::<[u8], _>(range.bounds());
                written.any(|(_, version)| changed(version))
            })
    }

    /// Commit `version` wrote `keys`. Versions never decrease from call to call.
    pub(super) fn record<'a>(&mut self, version: Version, keys: impl IntoIterator<Item = &'a Key>) {
        for key in keys {
            let key: Arc<[u8]> = key.as_slice().into();
            self.versions.insert(Arc::clone(&key), version);
            self.order.push_back((version, key));
        }
        while self.order.len() > self.keys_max
            && let Some((version, key)) = self.order.pop_front()
        {
            self.forgotten = version;
            if self.versions.get(&key) == Some(&version) {
                self.versions.remove(&key);
            }
        }
    }
}

/// Refuses what a network engine could not store either.
pub(super) fn check_sizes(writes: &WriteSet) -> Result<(), EngineError> {
    for (key, value) in writes {
        let value_bytes = value.as_ref().map_or(0, bytes::Bytes::len);
        if key.len() > KEY_MAX_BYTES {
            return Err(EngineError::TooLarge { what: "key", bytes: key.len(), max_bytes: KEY_MAX_BYTES });
        }
        if value_bytes > VALUE_MAX_BYTES {
            return Err(EngineError::TooLarge { what: "value", bytes: value_bytes, max_bytes: VALUE_MAX_BYTES });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        text.as_bytes().to_vec()
    }

    fn range(low: &str, high: &str) -> Range {
        Range { low: key(low), high: Some(key(high)) }
    }

    /// Commit 5 wrote b and d.
    fn recent() -> RecentWrites {
        let mut recent = RecentWrites::new(4);
        recent.record(5, &[key("b"), key("d")]);
        recent
    }

    #[test]
    fn a_key_conflicts_only_with_later_commits() {
        for (text, since, expected) in
            [("b", 4, true), ("b", 5, false), ("b", 6, false), ("c", 4, false), ("d", 0, true)]
        {
            let mut reads = Reads::default();
            reads.key(text.as_bytes());
            assert_eq!(recent().conflicts(since, &reads), expected, "{text} read at {since}");
        }
    }

    #[test]
    fn a_range_conflicts_with_what_lies_inside() {
        for (low, high, expected) in [
            ("a", "b", false),
            ("a", "c", true),
            ("b", "c", true),
            ("c", "d", false),
            ("d", "z", true),
            ("z", "a", false),
            ("b", "b", false),
        ] {
            let mut reads = Reads::default();
            reads.scan(&Scan::of(range(low, high), 10), None);
            assert_eq!(recent().conflicts(4, &reads), expected, "{low}..{high}");
        }
    }

    #[test]
    fn what_a_scan_did_not_reach_may_change() {
        for (stopped_at, reverse, expected) in
            [("a", false, false), ("b", false, true), ("d\0", true, false), ("d", true, true)]
        {
            let mut reads = Reads::default();
            let scan = Scan { reverse, ..Scan::of(range("a", "z"), 1) };
            reads.scan(&scan, Some(stopped_at.as_bytes()));
            assert_eq!(recent().conflicts(4, &reads), expected, "stopped at {stopped_at}, reverse {reverse}");
        }
    }

    #[test]
    fn a_transaction_from_before_what_is_remembered_conflicts() {
        let mut recent = recent();
        recent.record(6, &[key("b"), key("x"), key("y")]);
        let none = Reads::default();
        assert!(recent.conflicts(4, &none), "a write of commit 5 was forgotten");
        assert!(!recent.conflicts(5, &none));
        let mut reads = Reads::default();
        reads.key(b"b");
        assert!(recent.conflicts(5, &reads), "the later write of b is remembered");
    }

    #[test]
    fn memory_is_bounded() {
        let mut recent = RecentWrites::new(8);
        for version in 1..1000 {
            recent.record(version, &[key("hot"), version.to_string().into_bytes()]);
        }
        assert_eq!(recent.order.len(), 8);
        assert!(recent.versions.len() <= 8);
    }

    #[test]
    fn sizes_are_checked_at_their_limits() {
        let cases = [
            (KEY_MAX_BYTES, VALUE_MAX_BYTES, None),
            (KEY_MAX_BYTES + 1, 0, Some("a key of 513 bytes is larger than the store takes (512 bytes)")),
            (1, VALUE_MAX_BYTES + 1, Some("a value of 1048577 bytes is larger than the store takes (1048576 bytes)")),
        ];
        for (key_bytes, value_bytes, expected) in cases {
            let writes = WriteSet::from([(vec![b'k'; key_bytes], Some(vec![0; value_bytes].into()))]);
            let error = check_sizes(&writes).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected);
        }
    }
}
