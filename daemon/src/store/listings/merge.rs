//! Several sorted lists read as one, from any place in it.
//!
//! The range counts of the lists give the number of entries before each bucket, so reading starts at the last bucket
//! that surely begins before the page. Lists are read from there in short stretches: what a page
//! costs depends neither on the length of the lists nor on where it lies.

use std::{collections::VecDeque, sync::Arc};

use crate::store::{
    Read, StoreError,
    engine::{CountBucket, Key, KeyFilter, Range, Scan},
};

/// Entries that are read at a time.
const STRETCH: usize = 128;

/// Lists that are merged, and what passes of them.
pub(super) struct Merge<'a, R> {
    read: &'a R,
    filter: KeyFilter,
    tracks: Vec<Track>,
    /// Entries that are in none of the lists, sorted.
    singles: VecDeque<Key>,
}

impl<'a, R: Read> Merge<'a, R> {
    /// The lists with these prefixes, and what passes of them; all of `singles` passes.
    pub(super) async fn new(
        read: &'a R,
        filter: KeyFilter,
        prefixes: Vec<Key>,
        mut singles: Vec<Key>,
    ) -> Result<Self, StoreError> {
        let mut tracks = Vec::with_capacity(prefixes.len());
        for prefix in prefixes {
            let buckets = read.range_counts(&Range::prefix(prefix.as_slice()), &filter).await?;
            tracks.push(Track::new(prefix, buckets));
        }
        singles.sort_unstable();
        Ok(Self { read, filter, tracks, singles: singles.into() })
    }

    /// How many entries there are.
    pub(super) fn total(&self) -> u64 {
        self.tracks.iter().flat_map(|track| &track.buckets).map(|bucket| bucket.weight).sum::<u64>()
            + self.singles.len() as u64
    }

    /// The entries from the one numbered `from` to the one before `to`.
    pub(super) async fn between(mut self, from: u64, to: u64) -> Result<Vec<Key>, StoreError> {
        let mut found = Vec::new();
        let mut at = self.enter(from);
        while at < to {
            let Some(key) = self.next().await? else { break };
            if at >= from {
                found.push(key);
            }
            at += 1;
        }
        Ok(found)
    }

    /// Goes near the entry numbered `from`, not behind it; how many come before. They may be any of
    /// those before `from`: only from there on is the order that of all lists.
    fn enter(&mut self, from: u64) -> u64 {
        let entry = self.entry(from);
        let skipped = before(&self.singles, &entry);
        self.singles.drain(..skipped);
        self.tracks.iter_mut().map(|track| track.enter(&entry)).sum::<u64>() + skipped as u64
    }

    /// The next entry of all lists.
    async fn next(&mut self) -> Result<Option<Key>, StoreError> {
        for track in &mut self.tracks {
            track.fill(self.read, &self.filter).await?;
        }
        let lists = self.tracks.iter_mut().map(|track| &mut track.entries).chain([&mut self.singles]);
        let first = lists.filter(|entries| !entries.is_empty()).min_by(|a, b| a.front().cmp(&b.front()));
        Ok(first.and_then(VecDeque::pop_front))
    }

    /// Returns the start of the last bucket before which there are at most `from` entries, assuming that all entries of
    /// the buckets that contain it come before it.
    fn entry(&self, from: u64) -> Arc<[u8]> {
        let mut starts: Vec<(&[u8], u64)> = self.tracks.iter().flat_map(Track::starts).collect();
        starts.sort_unstable();
        let (mut enter, mut most): (&[u8], u64) = (&[], 0);
        for same in starts.chunk_by(|a, b| a.0 == b.0) {
            let start = same[0].0;
            if most + before(&self.singles, start) as u64 > from {
                break;
            }
            enter = start;
            most += same.iter().map(|(_, passing)| passing).sum::<u64>();
        }
        enter.into()
    }
}

/// How many of `singles` come before `key`.
fn before(singles: &VecDeque<Key>, key: &[u8]) -> usize {
    singles.partition_point(|single| single.as_slice() < key)
}

/// One of the lists. Keys without its prefix are compared with those of others.
struct Track {
    prefix: Key,
    buckets: Vec<CountBucket>,
    /// Index of the bucket that is being read, and the part of the list that was not read yet.
    bucket: usize,
    rest: Range,
    /// What was read and not taken.
    entries: VecDeque<Key>,
}

impl Track {
    fn new(prefix: Key, buckets: Vec<CountBucket>) -> Self {
        let rest = Range::prefix(prefix.as_slice());
        Self { prefix, buckets, bucket: 0, rest, entries: VecDeque::new() }
    }

    /// Start and number of passing entries of each bucket.
    fn starts(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.buckets.iter().map(|bucket| (&bucket.first[self.prefix.len()..], bucket.weight))
    }

    /// Moves to the bucket that contains `key`. Returns how many entries come before that bucket.
    fn enter(&mut self, key: &[u8]) -> u64 {
        let after = self.starts().take_while(|(start, _)| *start <= key).count();
        self.bucket = after.saturating_sub(1);
        self.rest.low = self.buckets[self.bucket].first.to_vec();
        self.buckets[..self.bucket].iter().map(|bucket| bucket.weight).sum()
    }

    /// Reads on until there is an entry, or the list ends.
    async fn fill(&mut self, read: &impl Read, filter: &KeyFilter) -> Result<(), StoreError> {
        while self.entries.is_empty() && self.bucket < self.buckets.len() {
            let end = self.buckets.get(self.bucket + 1).map(|next| Key::from(&*next.first));
            let empty = self.buckets[self.bucket].weight == 0;
            let range = Range { low: self.rest.low.clone(), high: end.clone().or_else(|| self.rest.high.clone()) };
            let pairs = if empty { Vec::new() } else { read.scan_bytes(&Scan::of(range, STRETCH)).await? };
            match (pairs.last(), end) {
                (Some((key, _)), _) if pairs.len() == STRETCH => self.rest.low = [key.as_slice(), &[0]].concat(),
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
