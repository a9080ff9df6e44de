//! Merges several sorted lists and reads them from any position.
//!
//! The range counts of the lists give the number of entries before each bucket. Reading starts at the last
//! bucket that is certain to begin before the page, and continues in small batches. The cost of a page
//! therefore depends neither on the length of the lists nor on the position of the page.

use std::{collections::VecDeque, sync::Arc};

use crate::store::{
    Read as _, Snapshot, StoreError,
    engine::{Key, Range, Scan},
    range_counts::{CountBucket, KeyFilter},
};

/// Number of entries read at a time.
const BATCH: usize = 128;

/// The lists to merge and the filter of their entries.
pub(super) struct Merge<'a> {
    snapshot: &'a Snapshot,
    filter: KeyFilter,
    lists: Vec<ListReader>,
    /// Keys of additional entries that are in none of the lists, sorted.
    singles: VecDeque<Key>,
}

impl<'a> Merge<'a> {
    /// Merges the lists with these prefixes. The filter applies to their entries, not to `singles`.
    pub(super) async fn new(
        snapshot: &'a Snapshot,
        filter: KeyFilter,
        prefixes: Vec<Key>,
        mut singles: Vec<Key>,
    ) -> Result<Self, StoreError> {
        let mut lists = Vec::with_capacity(prefixes.len());
        for prefix in prefixes {
            let buckets = snapshot.range_counts(&Range::prefix(prefix.as_slice()), &filter).await?;
            lists.push(ListReader::new(prefix, buckets));
        }
        singles.sort_unstable();
        Ok(Self { snapshot, filter, lists, singles: singles.into() })
    }

    /// Returns the total number of entries.
    pub(super) fn total(&self) -> u64 {
        self.lists.iter().flat_map(|list| &list.buckets).map(|bucket| bucket.total.count).sum::<u64>()
            + self.singles.len() as u64
    }

    /// Returns the entries with the indexes from `from` (inclusive) to `to` (exclusive).
    pub(super) async fn between(mut self, from: u64, to: u64) -> Result<Vec<Key>, StoreError> {
        let mut found = Vec::new();
        let mut index = self.seek(from);
        while index < to {
            let Some(key) = self.next().await? else { break };
            if index >= from {
                found.push(key);
            }
            index += 1;
        }
        Ok(found)
    }

    /// Moves to a position at or before the entry with index `from` and returns the number of entries before
    /// this position. The entries between the position and `from` may come in a different order than in the
    /// merged list; from `from` on, the order is right.
    fn seek(&mut self, from: u64) -> u64 {
        let start = self.start_key(from);
        let skipped = before(&self.singles, &start);
        self.singles.drain(..skipped);
        self.lists.iter_mut().map(|list| list.seek(&start)).sum::<u64>() + skipped as u64
    }

    /// Returns the next entry of the merged list.
    async fn next(&mut self) -> Result<Option<Key>, StoreError> {
        for list in &mut self.lists {
            list.fill(self.snapshot, &self.filter).await?;
        }
        let fronts = self.lists.iter_mut().map(|list| &mut list.entries).chain([&mut self.singles]);
        let first = fronts.filter(|entries| !entries.is_empty()).min_by(|a, b| a.front().cmp(&b.front()));
        Ok(first.and_then(VecDeque::pop_front))
    }

    /// Returns the start of the last bucket before which there are at most `from` entries, assuming that all entries of
    /// the buckets that contain it come before it.
    fn start_key(&self, from: u64) -> Arc<[u8]> {
        let mut starts: Vec<(&[u8], u64)> = self.lists.iter().flat_map(ListReader::starts).collect();
        starts.sort_unstable();
        let (mut start_key, mut passing_before): (&[u8], u64) = (&[], 0);
        for same in starts.chunk_by(|a, b| a.0 == b.0) {
            let start = same[0].0;
            if passing_before + before(&self.singles, start) as u64 > from {
                break;
            }
            start_key = start;
            passing_before += same.iter().map(|(_, passing)| passing).sum::<u64>();
        }
        start_key.into()
    }
}

/// Returns how many of `singles` come before `key`.
fn before(singles: &VecDeque<Key>, key: &[u8]) -> usize {
    singles.partition_point(|single| single.as_slice() < key)
}

/// Reads one of the lists. Entries are compared without the prefix of the list.
struct ListReader {
    prefix: Key,
    buckets: Vec<CountBucket>,
    /// Index of the current bucket.
    bucket: usize,
    /// The part of the list that was not read yet.
    rest: Range,
    /// Entries that were read but not returned yet.
    entries: VecDeque<Key>,
}

impl ListReader {
    fn new(prefix: Key, buckets: Vec<CountBucket>) -> Self {
        let rest = Range::prefix(prefix.as_slice());
        Self { prefix, buckets, bucket: 0, rest, entries: VecDeque::new() }
    }

    /// Returns the start and the number of passing entries of each bucket.
    fn starts(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.buckets.iter().map(|bucket| (&bucket.first[self.prefix.len()..], bucket.total.count))
    }

    /// Moves to the bucket that contains `key`. Returns how many entries come before that bucket.
    fn seek(&mut self, key: &[u8]) -> u64 {
        let after = self.starts().take_while(|(start, _)| *start <= key).count();
        self.bucket = after.saturating_sub(1);
        self.rest.low = self.buckets[self.bucket].first.to_vec();
        self.buckets[..self.bucket].iter().map(|bucket| bucket.total.count).sum()
    }

    /// Reads until there is an entry or the list ends.
    async fn fill(&mut self, snapshot: &Snapshot, filter: &KeyFilter) -> Result<(), StoreError> {
        while self.entries.is_empty() && self.bucket < self.buckets.len() {
            let end = self.buckets.get(self.bucket + 1).map(|next| Key::from(&*next.first));
            let empty = self.buckets[self.bucket].total.count == 0;
            let range = Range { low: self.rest.low.clone(), high: end.clone().or_else(|| self.rest.high.clone()) };
            let pairs = if empty { Vec::new() } else { snapshot.scan_bytes(&Scan::of(range, BATCH)).await? };
            match (pairs.last(), end) {
                (Some((key, _)), _) if pairs.len() == BATCH => self.rest.low = [key.as_slice(), &[0]].concat(),
                (_, Some(end)) => {
                    self.rest.low = end;
                    self.bucket += 1;
                }
                (_, None) => self.bucket = self.buckets.len(),
            }
            let passing = pairs.into_iter().filter(|(key, value)| filter.passes(key, value));
            self.entries.extend(passing.map(|(key, _)| key[self.prefix.len()..].to_vec()));
        }
        Ok(())
    }
}
