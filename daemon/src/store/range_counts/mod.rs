//! Counts the entries of long key ranges without reading them again for each request.
//!
//! A range is divided into buckets. Each bucket has the number and the total size of its entries that pass a filter,
//! and the newest of them. A total is the sum of the buckets, and a page deep inside a long list is found without
//! reading the entries before it. The counts always match the rows of the snapshot for which they were requested.
//!
//! Counting a range reads all of it, but a commit changes few buckets. `RangeCounts` therefore keeps the buckets in
//! memory while the daemon runs. It is notified of every commit of this daemon, and discards the counts of the buckets
//! that the commit changes.
//!
//! It does not see the commits of other daemons. In a store that is shared, counts are therefore kept for a short time
//! only, and one request at a time counts a range while others wait. Decisions that need exact numbers count again.

mod cache;
mod filter;

#[cfg(test)]
mod tests;

use std::{iter::Sum, sync::Arc};

use self::cache::BucketState;
pub(super) use self::cache::{CommitNumber, RangeCounts};
pub use self::filter::KeyFilter;
use super::engine::{EngineError, Key, Range, Scan, View};

/// Number of entries that are read at a time. Bounds the memory that counting needs.
const BATCH_ENTRIES: usize = 1_024;

/// A number of entries, their total size, and the newest of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Number of entries.
    pub count: u64,
    /// Total size, bytes.
    pub size_bytes: u64,
    /// The largest ID in the values of the entries; 0 if the filter reads no IDs.
    pub newest_id: u64,
}

impl Total {
    fn add_entry(&mut self, size_bytes: u64, id: u64) {
        self.count += 1;
        self.size_bytes = self.size_bytes.saturating_add(size_bytes);
        self.newest_id = self.newest_id.max(id);
    }
}

impl Sum for Total {
    fn sum<I: Iterator<Item = Self>>(totals: I) -> Self {
        totals.fold(Self::default(), |sum, total| Self {
            count: sum.count + total.count,
            size_bytes: sum.size_bytes.saturating_add(total.size_bytes),
            newest_id: sum.newest_id.max(total.newest_id),
        })
    }
}

/// A part of a range, from `first` to the `first` of the next bucket or to the end of the range, with its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountBucket {
    /// Start of the bucket, inclusive. There may be no entry with this key.
    pub first: Arc<[u8]>,
    /// The entries that pass the filter.
    pub total: Total,
}

impl CountBucket {
    /// Returns the whole range as one bucket that was not counted.
    pub(super) fn unknown(range: &Range) -> Self {
        let total = Total { count: u64::MAX, ..Total::default() };
        Self { first: range.low.as_slice().into(), total }
    }

    /// Returns whether no entry passes the filter.
    pub(super) fn is_empty(&self) -> bool {
        self.total.count == 0
    }
}

/// Counts ranges in one view.
pub(super) struct RangeCounter<'a> {
    /// The view.
    pub(super) view: &'a dyn View,
    /// Kept counts.
    pub(super) range_counts: &'a RangeCounts,
    /// Every commit with a smaller number had ended when the view was created.
    pub(super) ended_before: CommitNumber,
}

impl RangeCounter<'_> {
    /// Returns the buckets of `range`, in key order. They cover the whole range.
    pub(super) async fn count(&self, range: &Range, filter: &KeyFilter) -> Result<Vec<CountBucket>, EngineError> {
        if self.range_counts.are_exact() {
            return self.count_kept(range, filter).await;
        }
        if !self.range_counts.has(range, filter) {
            if let Some(buckets) = self.count_short(range, filter).await? {
                return Ok(buckets);
            }
            self.range_counts.insert(range, filter);
        }
        let turn = self.range_counts.turn(range, filter, self.ended_before);
        let _turn = match &turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        };
        self.count_kept(range, filter).await
    }

    /// Counts a range without kept counts.
    pub(super) async fn count_anew(&self, range: &Range, filter: &KeyFilter) -> Result<Vec<CountBucket>, EngineError> {
        let mut builder = BucketBuilder::new(&range.low, filter, self.range_counts.bucket_entries());
        let mut rest = range.clone();
        loop {
            let entries = self.view.scan(&Scan::of(rest.clone(), BATCH_ENTRIES)).await?;
            for (key, value) in &entries {
                builder.add(key, value);
            }
            match entries.last() {
                Some((last, _)) if entries.len() == BATCH_ENTRIES => rest = rest.after(last),
                _ => return Ok(builder.buckets),
            }
        }
    }

    async fn count_kept(&self, range: &Range, filter: &KeyFilter) -> Result<Vec<CountBucket>, EngineError> {
        let states = match self.range_counts.buckets(range, filter, self.ended_before) {
            Some(states) => states,
            None => match self.count_short(range, filter).await? {
                Some(buckets) => return Ok(buckets),
                None => self.range_counts.insert(range, filter),
            },
        };
        let mut buckets = Vec::with_capacity(states.len());
        let mut next = 0;
        for run in states.chunk_by(|a, b| a.total.is_some() == b.total.is_some()) {
            next += run.len();
            let known = run
                .iter()
                .filter_map(|state| Some(CountBucket { first: Arc::clone(&state.first), total: state.total? }));
            let known_before = buckets.len();
            buckets.extend(known);
            if buckets.len() == known_before {
                let end = states.get(next).map(|state| state.first.to_vec()).or_else(|| range.high.clone());
                buckets.extend(self.count_run(range, filter, run, end).await?);
            }
        }
        Ok(buckets)
    }

    /// Counts a range with few entries. Returns `None` if it has many. Short ranges are not kept, because counting
    /// them again is as fast.
    async fn count_short(&self, range: &Range, filter: &KeyFilter) -> Result<Option<Vec<CountBucket>>, EngineError> {
        let bucket_entries = self.range_counts.bucket_entries();
        let limit = bucket_entries / 2;
        let entries = self.view.scan(&Scan::of(range.clone(), limit)).await?;
        if entries.len() == limit {
            return Ok(None);
        }
        let mut builder = BucketBuilder::new(&range.low, filter, bucket_entries);
        for (key, value) in &entries {
            builder.add(key, value);
        }
        Ok(Some(builder.buckets))
    }

    /// Counts adjacent buckets of `range` that have no counts, up to the key `end`, and keeps the counts.
    async fn count_run(
        &self,
        range: &Range,
        filter: &KeyFilter,
        run: &[BucketState],
        end: Option<Key>,
    ) -> Result<Vec<CountBucket>, EngineError> {
        let mut rest = Range { low: run[0].first.to_vec(), high: end.clone() };
        let mut count = RunCount {
            counter: self,
            range,
            filter,
            run,
            end,
            index: 0,
            builder: BucketBuilder::new(&run[0].first, filter, self.range_counts.bucket_entries()),
            buckets: Vec::new(),
        };
        loop {
            let entries = self.view.scan(&Scan::of(rest.clone(), BATCH_ENTRIES)).await?;
            for (key, value) in &entries {
                count.add(key, value);
            }
            match entries.last() {
                Some((last, _)) if entries.len() == BATCH_ENTRIES => rest = rest.after(last),
                _ => return Ok(count.finish()),
            }
        }
    }
}

/// The state while adjacent buckets are counted.
struct RunCount<'a> {
    counter: &'a RangeCounter<'a>,
    range: &'a Range,
    filter: &'a KeyFilter,
    /// The buckets to count.
    run: &'a [BucketState],
    /// The end of the last bucket.
    end: Option<Key>,
    /// Index of the bucket that is being counted.
    index: usize,
    /// Divides and counts the bucket at `index`.
    builder: BucketBuilder<'a>,
    /// The results for the buckets before `index`.
    buckets: Vec<CountBucket>,
}

impl RunCount<'_> {
    /// Adds the next entry in key order.
    fn add(&mut self, key: &[u8], value: &[u8]) {
        while self.run.get(self.index + 1).is_some_and(|next| *next.first <= *key) {
            self.finish_bucket();
        }
        self.builder.add(key, value);
    }

    /// Keeps the counts of the current bucket and continues with the next one.
    fn finish_bucket(&mut self) {
        let next = self.run.get(self.index + 1).map(|next| Arc::clone(&next.first));
        let high = next.as_ref().map(|first| first.to_vec()).or_else(|| self.end.clone());
        let bucket = Range { low: self.run[self.index].first.to_vec(), high };
        let fresh = BucketBuilder::new(next.as_deref().unwrap_or_default(), self.filter, self.builder.bucket_entries);
        let builder = std::mem::replace(&mut self.builder, fresh);
        let counted = (builder.entries > 0).then_some(builder.buckets.as_slice());
        let RangeCounter { range_counts, ended_before, .. } = *self.counter;
        range_counts.record(self.range, self.filter, ended_before, &bucket, counted);
        self.buckets.extend(builder.buckets);
        self.index += 1;
    }

    fn finish(mut self) -> Vec<CountBucket> {
        while self.index < self.run.len() {
            self.finish_bucket();
        }
        self.buckets
    }
}

/// Divides a range into buckets, entry by entry.
struct BucketBuilder<'a> {
    filter: &'a KeyFilter,
    /// Number of entries in a full bucket, whether or not they pass the filter.
    bucket_entries: usize,
    /// Number of entries in the last bucket.
    entries: usize,
    buckets: Vec<CountBucket>,
}

impl<'a> BucketBuilder<'a> {
    /// Starts with one empty bucket at `first`.
    fn new(first: &[u8], filter: &'a KeyFilter, bucket_entries: usize) -> Self {
        let first = CountBucket { first: first.into(), total: Total::default() };
        Self { filter, bucket_entries, entries: 0, buckets: vec![first] }
    }

    /// Adds the next entry in key order.
    fn add(&mut self, key: &[u8], value: &[u8]) {
        if self.entries == self.bucket_entries {
            self.buckets.push(CountBucket { first: key.into(), total: Total::default() });
            self.entries = 0;
        }
        self.entries += 1;
        if let (Some(bucket), Some(size_bytes)) = (self.buckets.last_mut(), self.filter.size(key, value)) {
            bucket.total.add_entry(size_bytes, self.filter.id(key, value));
        }
    }
}
