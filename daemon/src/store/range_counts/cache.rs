//! Keeps the buckets of long ranges, and decides for which snapshots their counts are valid.
//!
//! Commits are numbered in the order in which they begin. A commit marks the buckets of its keys *before* it begins,
//! and stays in progress until its effect is decided. A snapshot has a number below which all commits had ended when it
//! was created, so it contains all of these. A count is valid for a snapshot if both this snapshot and the snapshot in
//! which it was counted contain the last commit that changed the bucket. A commit that conflicts, fails or has an
//! unknown outcome needs no special treatment: its buckets are counted again.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Mutex as AsyncMutex, time::Instant};

use super::{CountBucket, KeyFilter, Total};
use crate::store::engine::{Range, WriteSet};

/// Number of entries in a full bucket when it is counted.
const BUCKET_ENTRIES: usize = 256;
/// Maximum number of kept ranges; the least recently used one is removed first.
const RANGES_MAX: usize = 64;
/// Maximum number of kept buckets of all ranges: a few megabytes.
const BUCKETS_MAX: usize = 32_768;

/// Time for which counts are kept if other daemons use the store.
const KEEP_SHARED: Duration = Duration::from_secs(2);

/// Number of a commit, in the order in which commits begin.
pub(in crate::store) type CommitNumber = u64;

/// The kept range counts of a store.
pub(in crate::store) struct RangeCounts {
    inner: Mutex<Inner>,
    /// All commits with smaller numbers have ended.
    ended_before: AtomicU64,
    bucket_entries: usize,
    /// Time after which a bucket is counted again. `None`: only this daemon changes the store.
    keep: Option<Duration>,
}

struct Inner {
    /// Number of the next commit.
    next: CommitNumber,
    in_progress: BTreeSet<CommitNumber>,
    /// In order of use, most recently used last.
    ranges: VecDeque<CachedRange>,
}

struct CachedRange {
    range: Range,
    filter: KeyFilter,
    /// In key order. The first bucket starts where the range does.
    buckets: Vec<CachedBucket>,
    /// Held by the request that counts the range, if other daemons use the store.
    turn: Arc<AsyncMutex<()>>,
}

#[derive(Clone)]
struct CachedBucket {
    first: Arc<[u8]>,
    /// The last commit that may have changed the bucket.
    changed: CommitNumber,
    /// `None` until the bucket is counted by a snapshot that contains `changed`.
    total: Option<Total>,
    /// The end of the time for which `total` is kept. `None`: it has no end.
    until: Option<Instant>,
}

impl CachedBucket {
    /// Returns the total, unless its time is over.
    fn total(&self) -> Option<Total> {
        self.total.filter(|_| self.until.is_none_or(|until| Instant::now() < until))
    }

    fn state(&self, ended_before: CommitNumber) -> BucketState {
        let total = self.total().filter(|_| self.changed < ended_before);
        BucketState { first: Arc::clone(&self.first), total }
    }
}

/// A bucket as one snapshot gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BucketState {
    pub(super) first: Arc<[u8]>,
    /// `None` if the bucket must be counted.
    pub(super) total: Option<Total>,
}

impl RangeCounts {
    /// Creates an empty cache. `is_shared`: other daemons may change the store.
    pub(in crate::store) fn new(is_shared: bool) -> Self {
        let inner = Inner { next: 1, in_progress: BTreeSet::new(), ranges: VecDeque::new() };
        Self {
            inner: Mutex::new(inner),
            ended_before: AtomicU64::new(1),
            bucket_entries: BUCKET_ENTRIES,
            keep: is_shared.then_some(KEEP_SHARED),
        }
    }

    /// Creates an empty cache with buckets of `bucket_entries` entries.
    #[cfg(test)]
    pub(in crate::store) fn with_bucket_entries(is_shared: bool, bucket_entries: usize) -> Self {
        Self { bucket_entries, ..Self::new(is_shared) }
    }

    /// Returns whether the counts contain all commits that a snapshot contains.
    pub(in crate::store) fn are_exact(&self) -> bool {
        self.keep.is_none()
    }

    /// Returns whether counts of `range` are kept, or will be.
    pub(super) fn has(&self, range: &Range, filter: &KeyFilter) -> bool {
        self.lock().position(range, filter).is_some()
    }

    /// Returns what a request must hold while it counts the range, so that others do not count it at the same time.
    /// `None`: the counts are known, or the range is not kept.
    pub(super) fn turn(
        &self,
        range: &Range,
        filter: &KeyFilter,
        ended_before: CommitNumber,
    ) -> Option<Arc<AsyncMutex<()>>> {
        let inner = self.lock();
        let cached = &inner.ranges[inner.position(range, filter)?];
        let is_known = cached.buckets.iter().all(|bucket| bucket.state(ended_before).total.is_some());
        (!is_known).then(|| Arc::clone(&cached.turn))
    }

    pub(super) fn bucket_entries(&self) -> usize {
        self.bucket_entries
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a number below which all commits have ended. Read it *before* a snapshot is created.
    pub(in crate::store) fn ended_before(&self) -> CommitNumber {
        self.ended_before.load(Ordering::SeqCst)
    }

    /// Marks the buckets that `writes` change. The commit is in progress until the result is dropped. Drop it only
    /// when the effect of the commit is decided, also if the outcome is unknown to the caller.
    pub(in crate::store) fn begin_commit(self: &Arc<Self>, writes: &WriteSet) -> CommitInProgress {
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        inner.in_progress.insert(number);
        for cached in &mut inner.ranges {
            for (key, _) in writes.range::<[u8], _>(cached.range.bounds()) {
                cached.mark_changed(key, number);
            }
        }
        CommitInProgress { range_counts: Arc::clone(self), number }
    }

    fn end_commit(&self, number: CommitNumber) {
        let mut inner = self.lock();
        inner.in_progress.remove(&number);
        let ended_before = inner.in_progress.first().copied().unwrap_or(inner.next);
        self.ended_before.store(ended_before, Ordering::SeqCst);
    }

    /// Returns the kept buckets of `range` for a snapshot; `None` if the range is not kept.
    pub(super) fn buckets(
        &self,
        range: &Range,
        filter: &KeyFilter,
        ended_before: CommitNumber,
    ) -> Option<Vec<BucketState>> {
        let mut inner = self.lock();
        let index = inner.position(range, filter)?;
        let cached = inner.ranges.remove(index)?;
        let states = cached.buckets.iter().map(|bucket| bucket.state(ended_before)).collect();
        inner.ranges.push_back(cached);
        Some(states)
    }

    /// Keeps `range` from now on, as one bucket without counts.
    pub(super) fn insert(&self, range: &Range, filter: &KeyFilter) -> Vec<BucketState> {
        let first: Arc<[u8]> = range.low.as_slice().into();
        let mut inner = self.lock();
        if inner.position(range, filter).is_none() {
            // Commits that began earlier have not marked the bucket, so it counts as changed by the last of them.
            let bucket = CachedBucket { first: Arc::clone(&first), changed: inner.next - 1, total: None, until: None };
            let (range, filter, turn) = (range.clone(), filter.clone(), Arc::default());
            inner.ranges.push_back(CachedRange { range, filter, buckets: vec![bucket], turn });
            inner.make_room();
        }
        vec![BucketState { first, total: None }]
    }

    /// Replaces the bucket with the extent `bucket` by its division and counts in a snapshot. `None` means that the
    /// bucket has no entry.
    ///
    /// The counts are discarded if a commit that the snapshot may not contain has changed the bucket. The division is
    /// kept in any case: it is right for every state, and the next snapshot then counts again only the parts that
    /// have changed.
    pub(super) fn record(
        &self,
        range: &Range,
        filter: &KeyFilter,
        ended_before: CommitNumber,
        bucket: &Range,
        counted: Option<&[CountBucket]>,
    ) {
        let mut inner = self.lock();
        let Some(cached) = inner.position(range, filter).and_then(|index| inner.ranges.get_mut(index)) else { return };
        let Ok(index) = cached.buckets.binary_search_by(|cached| (*cached.first).cmp(&bucket.low)) else { return };
        let end = cached.buckets.get(index + 1).map(|next| &*next.first).or(range.high.as_deref());
        let CachedBucket { changed, .. } = cached.buckets[index];
        // Another snapshot has already counted or divided the bucket.
        if cached.buckets[index].total().is_some() || end != bucket.high.as_deref() {
            return;
        }
        let is_valid = changed < ended_before;
        let until = self.keep.map(|keep| Instant::now() + keep);
        match counted {
            Some(counted) => {
                let parts = counted.iter().map(|part| CachedBucket {
                    first: Arc::clone(&part.first),
                    changed,
                    total: is_valid.then_some(part.total),
                    until,
                });
                cached.buckets.splice(index..=index, parts);
                inner.make_room();
            }
            None if !is_valid => {}
            None if index == 0 => {
                cached.buckets[index].total = Some(Total::default());
                cached.buckets[index].until = until;
            }
            None => {
                cached.buckets.remove(index);
                let previous = &mut cached.buckets[index - 1];
                previous.changed = previous.changed.max(changed);
            }
        }
    }
}

/// A commit whose effect is not decided yet.
pub(in crate::store) struct CommitInProgress {
    range_counts: Arc<RangeCounts>,
    number: CommitNumber,
}

impl Drop for CommitInProgress {
    fn drop(&mut self) {
        self.range_counts.end_commit(self.number);
    }
}

impl Inner {
    fn position(&self, range: &Range, filter: &KeyFilter) -> Option<usize> {
        self.ranges.iter().rposition(|cached| cached.range == *range && cached.filter == *filter)
    }

    fn make_room(&mut self) {
        let buckets = |ranges: &VecDeque<CachedRange>| ranges.iter().map(|cached| cached.buckets.len()).sum::<usize>();
        while self.ranges.len() > RANGES_MAX || (self.ranges.len() > 1 && buckets(&self.ranges) > BUCKETS_MAX) {
            self.ranges.pop_front();
        }
    }
}

impl CachedRange {
    /// Marks the bucket of `key`, which is in the range, as changed by the commit `number`.
    fn mark_changed(&mut self, key: &[u8], number: CommitNumber) {
        let index = self.buckets.partition_point(|bucket| *bucket.first <= *key).saturating_sub(1);
        if let Some(bucket) = self.buckets.get_mut(index) {
            bucket.changed = number;
            bucket.total = None;
        }
    }
}

#[cfg(test)]
mod tests;
