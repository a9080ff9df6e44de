//! Optimistic concurrency control for engines with a single committer.
//!
//! A transaction records what it reads. At its commit, these reads are compared with the writes that were
//! committed since it began. Does no I/O and takes no locks.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use super::{EngineError, KEY_MAX_BYTES, Key, Range, Scan, VALUE_MAX_BYTES, WriteSet};

/// Number of a commit. Later commits have higher numbers.
pub(super) type Version = u64;

/// Number of written keys that are remembered. A transaction that is older than the oldest of them always
/// conflicts, so this must cover the longest transaction.
pub(super) const RECENT_KEYS_MAX: usize = 32_768;

/// The read set of a transaction.
#[derive(Debug, Default)]
pub(super) struct Reads {
    keys: Vec<Key>,
    ranges: Vec<Range>,
}

impl Reads {
    /// Records a lookup of `key`, whether or not it exists.
    pub(super) fn key(&mut self, key: &[u8]) {
        self.keys.push(key.to_vec());
    }

    /// Records lookups of `keys`.
    pub(super) fn keys(&mut self, keys: &[Key]) {
        self.keys.extend_from_slice(keys);
    }

    /// Records a scan. `stopped_at` is the last visited key if the scan stopped before the end of its range.
    /// Keys after it were not read and may change.
    pub(super) fn scan(&mut self, scan: &Scan, stopped_at: Option<&[u8]>) {
        let mut read = scan.range.clone();
        match stopped_at {
            Some(last) if scan.reverse => read.low = last.to_vec(),
            Some(last) => read.high = Some([last, &[0]].concat()),
            None => {}
        }
        self.ranges.push(read);
    }
}

/// Recently written keys with the number of their last commit.
#[derive(Debug)]
pub(super) struct RecentWrites {
    /// Writes of commits up to this number may have been removed.
    forgotten: Version,
    /// The last commit that wrote each key.
    versions: BTreeMap<Arc<[u8]>, Version>,
    /// All remembered writes, oldest first.
    order: VecDeque<(Version, Arc<[u8]>)>,
    keys_max: usize,
}

impl RecentWrites {
    /// Creates a record of at most `keys_max` writes.
    pub(super) fn new(keys_max: usize) -> Self {
        Self { forgotten: 0, versions: BTreeMap::new(), order: VecDeque::new(), keys_max }
    }

    /// Returns whether anything in `reads`, recorded at version `since`, may have changed.
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

    /// Records that commit `version` wrote `keys`. Versions must not decrease between calls.
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

/// Checks the size limits of keys and values. They also apply to engines without own limits, so that data can
/// move between engines.
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

    /// Returns a record in which commit 5 wrote b and d.
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
    fn a_range_conflicts_with_writes_inside_it() {
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
    fn keys_that_a_scan_did_not_reach_may_change() {
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
    fn a_transaction_older_than_the_remembered_writes_conflicts() {
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
