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
const RANGES_MAX: usize = 64;
/// Maximum number of cached buckets of all ranges: a few megabytes.
const BUCKETS_MAX: usize = 32_768;

/// The cached range counts.
#[derive(Default)]
pub(super) struct RangeCounts(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The last version that the writer started to write.
    started: Version,
    /// In order of use, most recently used last.
    entries: VecDeque<CachedRange>,
}

struct CachedRange {
    range: Range,
    filter: Arc<[u8]>,
    buckets: Vec<CachedBucket>,
}

/// A cached bucket and the versions for which its count is valid.
#[derive(Clone)]
struct CachedBucket {
    first: Arc<[u8]>,
    /// The last version that may have changed the bucket.
    changed: Version,
    weight: Option<u64>,
}

/// A bucket as a reader gets it; without a weight if the reader has to count it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BucketState {
    pub(super) first: Arc<[u8]>,
    pub(super) weight: Option<u64>,
}

impl RangeCounts {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cached buckets of `range` for a state that is `since` or newer.
    pub(super) fn buckets(&self, range: &Range, filter: &KeyFilter, since: Version) -> Option<Vec<BucketState>> {
        let mut inner = self.lock();
        let index = inner.position(range, filter)?;
        let entry = inner.entries.remove(index)?;
        let state = |bucket: &CachedBucket| BucketState {
            first: Arc::clone(&bucket.first),
            weight: bucket.weight.filter(|_| since >= bucket.changed),
        };
        let parts = entry.buckets.iter().map(state).collect();
        inner.entries.push_back(entry);
        Some(parts)
    }

    /// Adds `range` to the cache as one bucket without a count. From now on writes mark it.
    pub(super) fn insert(&self, range: &Range, filter: &KeyFilter) -> Vec<BucketState> {
        let mut inner = self.lock();
        if inner.position(range, filter).is_none() {
            let first: Arc<[u8]> = range.low.as_slice().into();
            let bucket = CachedBucket { first, changed: inner.started, weight: None };
            let entry = CachedRange { range: range.clone(), filter: Arc::clone(filter.name()), buckets: vec![bucket] };
            inner.entries.push_back(entry);
            inner.make_room();
        }
        vec![BucketState { first: range.low.as_slice().into(), weight: None }]
    }

    /// Replaces the bucket that starts at `first` with `buckets`, which were counted in a state that is `since`
    /// or newer. `None` means that the bucket has no entry.
    pub(super) fn store(
        &self,
        range: &Range,
        filter: &KeyFilter,
        since: Version,
        first: &[u8],
        buckets: Option<Vec<CountBucket>>,
    ) {
        let mut inner = self.lock();
        let Some(entry) = inner.position(range, filter).and_then(|index| inner.entries.get_mut(index)) else { return };
        let Ok(index) = entry.buckets.binary_search_by(|bucket| (*bucket.first).cmp(first)) else { return };
        let CachedBucket { changed, weight, .. } = entry.buckets[index];
        // A bucket that was changed later may have a different count now. A bucket with a count was already
        // replaced and may end earlier.
        if changed > since || weight.is_some() {
            return;
        }
        match buckets {
            None if index > 0 => {
                entry.buckets.remove(index);
                let before = &mut entry.buckets[index - 1];
                before.changed = before.changed.max(changed);
            }
            None => entry.buckets[index].weight = Some(0),
            Some(buckets) => {
                let cached =
                    |bucket: CountBucket| CachedBucket { first: bucket.first, changed, weight: Some(bucket.weight) };
                entry.buckets.splice(index..=index, buckets.into_iter().map(cached));
                inner.make_room();
            }
        }
    }

    /// Marks the buckets that `version`, which is about to be written, changes.
    pub(super) fn mark_written<'a>(&self, version: Version, writes: &(impl Iterator<Item = &'a WriteSet> + Clone)) {
        let mut inner = self.lock();
        inner.started = version;
        for entry in &mut inner.entries {
            for set in writes.clone() {
                for (key, _) in set.range::<[u8], _>(entry.range.bounds()) {
                    entry.mark_changed(key, version);
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
        let buckets = |entries: &VecDeque<CachedRange>| entries.iter().map(|entry| entry.buckets.len()).sum::<usize>();
        while self.entries.len() > RANGES_MAX || (self.entries.len() > 1 && buckets(&self.entries) > BUCKETS_MAX) {
            self.entries.pop_front();
        }
    }
}

impl CachedRange {
    /// Marks the bucket of `key`, which is in the range, as changed by `version`.
    fn mark_changed(&mut self, key: &[u8], version: Version) {
        // The first bucket starts where the range does.
        let index = self.buckets.partition_point(|bucket| *bucket.first <= *key).saturating_sub(1);
        if let Some(bucket) = self.buckets.get_mut(index) {
            bucket.changed = version;
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

    /// Creates three buckets, counted at version 0.
    fn three_buckets() -> RangeCounts {
        let range_counts = RangeCounts::default();
        assert_eq!(range_counts.buckets(&range(), &KeyFilter::all(), 0), None);
        assert_eq!(range_counts.insert(&range(), &KeyFilter::all()).len(), 1);
        let buckets = vec![bucket("k", 5), bucket("k5", 6), bucket("k8", 7)];
        range_counts.store(&range(), &KeyFilter::all(), 0, b"k", Some(buckets));
        range_counts
    }

    fn weights(range_counts: &RangeCounts, since: Version) -> Vec<Option<u64>> {
        let states = range_counts.buckets(&range(), &KeyFilter::all(), since).expect("inserted");
        states.into_iter().map(|state| state.weight).collect()
    }

    #[test]
    fn a_write_marks_only_the_bucket_of_its_key() {
        let range_counts = three_buckets();
        range_counts.mark_written(1, &[writes("j9"), writes("l")].iter());
        assert_eq!(weights(&range_counts, 0), [Some(5), Some(6), Some(7)]);
        range_counts.mark_written(2, &[writes("k7")].iter());
        assert_eq!(weights(&range_counts, 2), [Some(5), None, Some(7)]);
        range_counts.store(&range(), &KeyFilter::all(), 2, b"k5", Some(vec![bucket("k5", 3), bucket("k6", 4)]));
        assert_eq!(weights(&range_counts, 2), [Some(5), Some(3), Some(4), Some(7)]);
        range_counts.mark_written(3, &[writes("k"), writes("k9")].iter());
        assert_eq!(weights(&range_counts, 3), [None, Some(3), Some(4), None]);
    }

    #[test]
    fn counts_of_changed_buckets_are_not_shared_with_older_states() {
        let range_counts = three_buckets();
        range_counts.mark_written(2, &[writes("k5")].iter());
        range_counts.store(&range(), &KeyFilter::all(), 1, b"k5", Some(vec![bucket("k5", 9)]));
        assert_eq!(weights(&range_counts, 2), [Some(5), None, Some(7)], "it may lack what 2 wrote");
        range_counts.store(&range(), &KeyFilter::all(), 2, b"k5", Some(vec![bucket("k5", 9)]));
        assert_eq!(weights(&range_counts, 2), [Some(5), Some(9), Some(7)]);
        assert_eq!(weights(&range_counts, 1), [Some(5), None, Some(7)]);
    }

    #[test]
    fn a_count_is_discarded_if_the_bucket_was_written_meanwhile() {
        let range_counts = three_buckets();
        range_counts.mark_written(1, &[writes("k5")].iter());
        range_counts.mark_written(2, &[writes("k6")].iter());
        range_counts.store(&range(), &KeyFilter::all(), 1, b"k5", Some(vec![bucket("k5", 9)]));
        assert_eq!(weights(&range_counts, 2)[1], None);
    }

    #[test]
    fn an_empty_bucket_is_merged_with_the_previous_one() {
        let range_counts = three_buckets();
        range_counts.mark_written(1, &[writes("k5"), writes("k1")].iter());
        range_counts.store(&range(), &KeyFilter::all(), 1, b"k5", None);
        assert_eq!(weights(&range_counts, 1), [None, Some(7)]);
        range_counts.store(&range(), &KeyFilter::all(), 1, b"k", None);
        assert_eq!(weights(&range_counts, 1), [Some(0), Some(7)], "the first bucket is kept");
        range_counts.mark_written(2, &[writes("k6")].iter());
        assert_eq!(weights(&range_counts, 2), [None, Some(7)]);
    }

    #[test]
    fn memory_is_bounded_and_used_ranges_are_kept() {
        let range_counts = three_buckets();
        for number in 0..2 * RANGES_MAX {
            range_counts.insert(&Range::prefix(format!("{number:03}")), &KeyFilter::all());
            assert!(range_counts.buckets(&range(), &KeyFilter::all(), 0).is_some());
        }
        assert_eq!(range_counts.lock().entries.len(), RANGES_MAX);
        let many = (0..BUCKETS_MAX).map(|number| bucket(&format!("x{number:06}"), 1)).collect();
        range_counts.insert(&Range::prefix("x"), &KeyFilter::all());
        range_counts.store(&Range::prefix("x"), &KeyFilter::all(), 0, b"x", Some(many));
        assert_eq!(range_counts.lock().entries.len(), 1);
    }
}
