//! A cache of the range counts of long ranges, kept in memory while the daemon runs.
//!
//! Counting a range visits every key, but a commit changes few buckets. So the buckets are kept, and the writer marks
//! the buckets of its keys *before* it writes: a cached count is valid for every state since its bucket was last
//! marked. A reader counts the buckets without a valid count, and stores the result unless a later write has marked
//! the bucket.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::store::engine::{CountBucket, KeyFilter, Range, WriteSet, optimistic::Version};

/// Maximum number of cached ranges; the least recently used one is removed first.
const KEPT: usize = 64;
/// Maximum number of cached buckets of all ranges: a few megabytes.
const BUCKETS_MAX: usize = 32_768;

/// The cached range counts.
#[derive(Default)]
pub(super) struct RangeCounts(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The last version that the writer began to write.
    begun: Version,
    /// In order of use, most recently used last.
    entries: VecDeque<Entry>,
}

struct Entry {
    range: Range,
    filter: Arc<[u8]>,
    buckets: Vec<Known>,
}

/// A cached bucket and the versions for which its count is valid.
#[derive(Clone)]
struct Known {
    first: Arc<[u8]>,
    /// The last version that may have changed it.
    touched: Version,
    weight: Option<u64>,
}

/// A bucket as a reader gets it; without a weight if the reader has to count it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) first: Arc<[u8]>,
    pub(super) weight: Option<u64>,
}

impl RangeCounts {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cached buckets of `range` for a state that is `since` or newer.
    pub(super) fn known(&self, range: &Range, filter: &KeyFilter, since: Version) -> Option<Vec<Part>> {
        let mut inner = self.lock();
        let at = inner.position(range, filter)?;
        let entry = inner.entries.remove(at)?;
        let part = |known: &Known| Part {
            first: Arc::clone(&known.first),
            weight: known.weight.filter(|_| since >= known.touched),
        };
        let parts = entry.buckets.iter().map(part).collect();
        inner.entries.push_back(entry);
        Some(parts)
    }

    /// Adds `range` to the cache as one bucket without a count. From now on writes mark it.
    pub(super) fn enter(&self, range: &Range, filter: &KeyFilter) -> Vec<Part> {
        let mut inner = self.lock();
        if inner.position(range, filter).is_none() {
            let first: Arc<[u8]> = range.low.as_slice().into();
            let bucket = Known { first, touched: inner.begun, weight: None };
            let entry = Entry { range: range.clone(), filter: Arc::clone(filter.name()), buckets: vec![bucket] };
            inner.entries.push_back(entry);
            inner.make_room();
        }
        vec![Part { first: range.low.as_slice().into(), weight: None }]
    }

    /// Replaces the bucket that starts at `first` with `buckets`, which were counted in a state that is `since` or
    /// newer. `None`: the bucket has no entry.
    pub(super) fn learn(
        &self,
        range: &Range,
        filter: &KeyFilter,
        since: Version,
        first: &[u8],
        buckets: Option<Vec<CountBucket>>,
    ) {
        let mut inner = self.lock();
        let Some(entry) = inner.position(range, filter).and_then(|at| inner.entries.get_mut(at)) else { return };
        let Ok(at) = entry.buckets.binary_search_by(|known| (*known.first).cmp(first)) else { return };
        let Known { touched, weight, .. } = entry.buckets[at];
        // What was touched since may look different by now; what has a figure may end earlier.
        if touched > since || weight.is_some() {
            return;
        }
        match buckets {
            None if at > 0 => {
                entry.buckets.remove(at);
                let before = &mut entry.buckets[at - 1];
                before.touched = before.touched.max(touched);
            }
            None => entry.buckets[at].weight = Some(0),
            Some(buckets) => {
                let known = |bucket: CountBucket| Known { first: bucket.first, touched, weight: Some(bucket.weight) };
                entry.buckets.splice(at..=at, buckets.into_iter().map(known));
                inner.make_room();
            }
        }
    }

    /// Marks the buckets that `version`, which is about to be written, changes.
    pub(super) fn writing<'a>(&self, version: Version, writes: &(impl Iterator<Item = &'a WriteSet> + Clone)) {
        let mut inner = self.lock();
        inner.begun = version;
        for entry in &mut inner.entries {
            for set in writes.clone() {
                for (key, _) in set.range::<[u8], _>(entry.range.bounds()) {
                    entry.touch(key, version);
                }
            }
        }
    }
}

impl Inner {
    fn position(&self, range: &Range, filter: &KeyFilter) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.range == *range && entry.filter == *filter.name())
    }

    fn make_room(&mut self) {
        let buckets = |entries: &VecDeque<Entry>| entries.iter().map(|entry| entry.buckets.len()).sum::<usize>();
        while self.entries.len() > KEPT || (self.entries.len() > 1 && buckets(&self.entries) > BUCKETS_MAX) {
            self.entries.pop_front();
        }
    }
}

impl Entry {
    /// Marks the bucket of `key`, which is in the range, as changed by `version`.
    fn touch(&mut self, key: &[u8], version: Version) {
        // The first bucket starts where the range does.
        let at = self.buckets.partition_point(|bucket| *bucket.first <= *key).saturating_sub(1);
        if let Some(bucket) = self.buckets.get_mut(at) {
            bucket.touched = version;
            bucket.weight = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range() -> Range {
        Range::prefix("k")
    }

    fn writes(key: &str) -> WriteSet {
        WriteSet::from([(key.as_bytes().to_vec(), None)])
    }

    fn bucket(first: &str, weight: u64) -> CountBucket {
        CountBucket { first: first.as_bytes().into(), weight }
    }

    /// Three buckets, counted at version 0.
    fn three() -> RangeCounts {
        let range_counts = RangeCounts::default();
        assert_eq!(range_counts.known(&range(), &KeyFilter::all(), 0), None);
        assert_eq!(range_counts.enter(&range(), &KeyFilter::all()).len(), 1);
        let buckets = vec![bucket("k", 5), bucket("k5", 6), bucket("k8", 7)];
        range_counts.learn(&range(), &KeyFilter::all(), 0, b"k", Some(buckets));
        range_counts
    }

    fn figures(range_counts: &RangeCounts, since: Version) -> Vec<Option<u64>> {
        let parts = range_counts.known(&range(), &KeyFilter::all(), since).expect("entered");
        parts.into_iter().map(|part| part.weight).collect()
    }

    #[test]
    fn a_write_touches_the_piece_that_it_falls_into_and_no_other() {
        let range_counts = three();
        range_counts.writing(1, &[writes("j9"), writes("l")].iter());
        assert_eq!(figures(&range_counts, 0), [Some(5), Some(6), Some(7)]);
        range_counts.writing(2, &[writes("k7")].iter());
        assert_eq!(figures(&range_counts, 2), [Some(5), None, Some(7)]);
        range_counts.learn(&range(), &KeyFilter::all(), 2, b"k5", Some(vec![bucket("k5", 3), bucket("k6", 4)]));
        assert_eq!(figures(&range_counts, 2), [Some(5), Some(3), Some(4), Some(7)]);
        range_counts.writing(3, &[writes("k"), writes("k9")].iter());
        assert_eq!(figures(&range_counts, 3), [None, Some(3), Some(4), None]);
    }

    #[test]
    fn old_states_neither_teach_nor_learn_what_was_touched_since() {
        let range_counts = three();
        range_counts.writing(2, &[writes("k5")].iter());
        range_counts.learn(&range(), &KeyFilter::all(), 1, b"k5", Some(vec![bucket("k5", 9)]));
        assert_eq!(figures(&range_counts, 2), [Some(5), None, Some(7)], "it may lack what 2 wrote");
        range_counts.learn(&range(), &KeyFilter::all(), 2, b"k5", Some(vec![bucket("k5", 9)]));
        assert_eq!(figures(&range_counts, 2), [Some(5), Some(9), Some(7)]);
        assert_eq!(figures(&range_counts, 1), [Some(5), None, Some(7)]);
    }

    #[test]
    fn what_is_written_while_somebody_counts_is_not_missed() {
        let range_counts = three();
        range_counts.writing(1, &[writes("k5")].iter());
        range_counts.writing(2, &[writes("k6")].iter());
        range_counts.learn(&range(), &KeyFilter::all(), 1, b"k5", Some(vec![bucket("k5", 9)]));
        assert_eq!(figures(&range_counts, 2)[1], None);
    }

    #[test]
    fn empty_pieces_join_the_one_before() {
        let range_counts = three();
        range_counts.writing(1, &[writes("k5"), writes("k1")].iter());
        range_counts.learn(&range(), &KeyFilter::all(), 1, b"k5", None);
        assert_eq!(figures(&range_counts, 1), [None, Some(7)]);
        range_counts.learn(&range(), &KeyFilter::all(), 1, b"k", None);
        assert_eq!(figures(&range_counts, 1), [Some(0), Some(7)], "the first stays");
        range_counts.writing(2, &[writes("k6")].iter());
        assert_eq!(figures(&range_counts, 2), [None, Some(7)]);
    }

    #[test]
    fn memory_is_bounded_and_what_is_used_stays() {
        let range_counts = three();
        for number in 0..2 * KEPT {
            range_counts.enter(&Range::prefix(format!("{number:03}")), &KeyFilter::all());
            assert!(range_counts.known(&range(), &KeyFilter::all(), 0).is_some());
        }
        assert_eq!(range_counts.lock().entries.len(), KEPT);
        let many = (0..BUCKETS_MAX).map(|number| bucket(&format!("x{number:06}"), 1)).collect();
        range_counts.enter(&Range::prefix("x"), &KeyFilter::all());
        range_counts.learn(&Range::prefix("x"), &KeyFilter::all(), 0, b"x", Some(many));
        assert_eq!(range_counts.lock().entries.len(), 1);
    }
}
