//! Reading: snapshots of the database, and what a transaction remembers of them.
//!
//! A few keys are read on the async worker that asks for them. A walk that turns out to be longer, and reads of many
//! keys, move to the threads for blocking work; nothing here waits for the writer but a commit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::redb::{AccessGuard, StorageError};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    Shared, Table,
    range_counts::Part,
    writer::{Commit, QUEUE_MAX_BYTES, Request},
};
use crate::{
    store::engine::{
        CommitError, CountBucket, EngineError, Key, KeyFilter, Range, Scan, Transaction, View, WriteSet,
        optimistic::{Reads, Version, check_sizes},
        range_counts::{BUCKET_ENTRIES, BucketBuilder},
    },
    tasks,
};

/// Keys that may be read on an async worker, enough for a page of a list: below a tenth of a millisecond when they are in
/// the cache, and no more than so many reads of a slow disk when they are not.
const INLINE_KEYS_MAX: u64 = 128;

/// One state of the database.
pub(super) struct RedbView {
    table: Arc<Table>,
    shared: Arc<Shared>,
    generation: u64,
    /// The state is this version or a newer one.
    since: Version,
}

impl RedbView {
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self, EngineError> {
        let since = shared.committed();
        let (table, generation) = shared.table()?;
        Ok(Self { table, shared: Arc::clone(shared), generation, since })
    }

    /// The values under `keys`, in their order.
    async fn lookup_many(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, EngineError> {
        if keys.len() as u64 <= INLINE_KEYS_MAX {
            return keys.iter().map(|key| self.lookup(key)).collect();
        }
        let (table, keys) = (Arc::clone(&self.table), keys.to_vec());
        let found = tasks::blocking(move || {
            let value = |key: &Key| Ok(table.get(key.as_slice())?.map(|value| Bytes::copy_from_slice(value.value())));
            keys.iter().map(value).collect::<Result<Vec<_>, StorageError>>()
        });
        found.await.map_err(|error| self.failed(error))
    }

    fn lookup(&self, key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        self.shared.guarded(|| {
            let found = self.table.get(key).map_err(|error| self.failed(error))?;
            Ok(found.map(|value| Bytes::copy_from_slice(value.value())))
        })
    }

    /// Walks `scan` to its end or its limit.
    async fn walk(&self, scan: &Scan) -> Result<Walk, EngineError> {
        let (mut walk, mut finished) = self.shared.guarded(|| {
            let pairs = self.table.range::<&[u8]>(scan.range.bounds()).map_err(|error| self.failed(error))?;
            let mut walk = Walk::new(pairs, scan);
            let finished = walk.visit(INLINE_KEYS_MAX).map_err(|error| self.failed(error))?;
            Ok((walk, finished))
        })?;
        if !finished {
            let (shared, generation) = (Arc::clone(&self.shared), self.generation);
            (walk, finished) = tasks::blocking(move || {
                shared.guarded(|| {
                    let visited = walk.visit(u64::MAX);
                    let finished = visited.map_err(|error| shared.read_failed(error.into(), generation))?;
                    Ok((walk, finished))
                })
            })
            .await?;
        }
        debug_assert!(finished, "the second visit has no limit");
        Ok(walk)
    }

    /// Counts `range` if it is short; `None` if it has more entries than may be visited on this thread.
    fn count_inline(&self, range: &Range, filter: &KeyFilter) -> Result<Option<Vec<CountBucket>>, EngineError> {
        self.shared.guarded(|| self.count_short(range, filter).map_err(|error| self.failed(error)))
    }

    fn count_short(&self, range: &Range, filter: &KeyFilter) -> Result<Option<Vec<CountBucket>>, StorageError> {
        let mut builder = BucketBuilder::new(range, filter, BUCKET_ENTRIES);
        for (visited, pair) in self.table.range::<&[u8]>(range.bounds())?.enumerate() {
            if visited as u64 == INLINE_KEYS_MAX {
                return Ok(None);
            }
            let (key, value) = pair?;
            builder.see(key.value(), value.value());
        }
        Ok(Some(builder.done()))
    }

    /// Counts the buckets in `parts` that have no weight, on a blocking thread, and stores the results in the cache.
    async fn complete(
        &self,
        range: &Range,
        filter: &KeyFilter,
        parts: Vec<Part>,
    ) -> Result<Vec<CountBucket>, EngineError> {
        if let Some(buckets) = known(&parts) {
            return Ok(buckets);
        }
        let (table, shared, since) = (Arc::clone(&self.table), Arc::clone(&self.shared), self.since);
        let (range, filter, generation) = (range.clone(), filter.clone(), self.generation);
        let count_parts = move |shared: &Shared| {
            let mut buckets = Vec::new();
            for (at, part) in parts.iter().enumerate() {
                let next = parts.get(at + 1).map(|next| next.first.to_vec());
                let own = Range { low: part.first.to_vec(), high: next.or_else(|| range.high.clone()) };
                match part.weight {
                    Some(weight) => buckets.push(CountBucket { first: Arc::clone(&part.first), weight }),
                    None => buckets.extend(count(&table, &own, &filter, |found| {
                        shared.range_counts.learn(&range, &filter, since, &own.low, found);
                    })?),
                }
            }
            Ok(buckets)
        };
        tasks::blocking(move || {
            shared.guarded(|| {
                count_parts(&shared).map_err(|error: StorageError| shared.read_failed(error.into(), generation))
            })
        })
        .await
    }

    fn failed(&self, error: StorageError) -> EngineError {
        self.shared.read_failed(error.into(), self.generation)
    }
}

#[async_trait]
impl View for RedbView {
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        self.lookup(key)
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, EngineError> {
        self.lookup_many(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, EngineError> {
        Ok(self.walk(scan).await?.found)
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError> {
        Ok(self.walk(&counting(range, cap)).await?.visited)
    }

    async fn range_counts(&self, range: &Range, filter: &KeyFilter) -> Result<Vec<CountBucket>, EngineError> {
        let range_counts = &self.shared.range_counts;
        if let Some(parts) = range_counts.known(range, filter, self.since) {
            return self.complete(range, filter, parts).await;
        }
        match self.count_inline(range, filter)? {
            Some(buckets) => Ok(buckets),
            None => self.complete(range, filter, range_counts.enter(range, filter)).await,
        }
    }
}

/// Returns the buckets, if all of them have a weight.
fn known(parts: &[Part]) -> Option<Vec<CountBucket>> {
    let bucket = |part: &Part| Some(CountBucket { first: Arc::clone(&part.first), weight: part.weight? });
    parts.iter().map(bucket).collect()
}

/// Counts all of `range`. Calls `found` with the buckets, or with `None` if there is no entry.
fn count(
    table: &Table,
    range: &Range,
    filter: &KeyFilter,
    found: impl FnOnce(Option<Vec<CountBucket>>),
) -> Result<Vec<CountBucket>, StorageError> {
    let mut builder = BucketBuilder::new(range, filter, BUCKET_ENTRIES);
    for pair in table.range::<&[u8]>(range.bounds())? {
        let (key, value) = pair?;
        builder.see(key.value(), value.value());
    }
    let is_empty = builder.is_empty();
    let buckets = builder.done();
    found((!is_empty).then(|| buckets.clone()));
    Ok(buckets)
}

/// A walk that passes over all it visits.
fn counting(range: &Range, cap: u64) -> Scan {
    Scan { skip: cap, ..Scan::of(range.clone(), 0) }
}

/// A scan on its way.
struct Walk {
    pairs: ::redb::Range<'static, &'static [u8], &'static [u8]>,
    reverse: bool,
    skip: u64,
    visits_max: u64,
    visited: u64,
    last: Option<AccessGuard<'static, &'static [u8]>>,
    found: Vec<(Key, Bytes)>,
}

impl Walk {
    fn new(pairs: ::redb::Range<'static, &'static [u8], &'static [u8]>, scan: &Scan) -> Self {
        let visits_max = scan.skip.saturating_add(scan.limit as u64);
        let reverse = scan.reverse;
        Self { pairs, reverse, skip: scan.skip, visits_max, visited: 0, last: None, found: Vec::new() }
    }

    /// Visits up to `budget` further keys; whether the walk has come to its end.
    fn visit(&mut self, budget: u64) -> Result<bool, StorageError> {
        for _ in 0..budget {
            if self.visited == self.visits_max {
                return Ok(true);
            }
            let next = if self.reverse { self.pairs.next_back() } else { self.pairs.next() };
            let Some(pair) = next else { return Ok(true) };
            let (key, value) = pair?;
            if self.visited >= self.skip {
                self.found.push((key.value().to_vec(), Bytes::copy_from_slice(value.value())));
            }
            self.visited += 1;
            self.last = Some(key);
        }
        Ok(false)
    }

    /// The last key visited, if the walk ended before its range.
    fn stopped_at(&self) -> Option<&[u8]> {
        if self.visited < self.visits_max {
            return None;
        }
        self.last.as_ref().map(AccessGuard::value)
    }
}

/// A view that remembers what was read from it.
pub(super) struct RedbTransaction {
    view: RedbView,
    reads: Mutex<Reads>,
}

impl RedbTransaction {
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self, EngineError> {
        Ok(Self { view: RedbView::begin(shared)?, reads: Mutex::default() })
    }

    fn reads(&self) -> MutexGuard<'_, Reads> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn walk(&self, scan: &Scan) -> Result<Walk, EngineError> {
        let walk = self.view.walk(scan).await?;
        self.reads().scan(scan, walk.stopped_at());
        Ok(walk)
    }
}

#[async_trait]
impl View for RedbTransaction {
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        self.reads().key(key);
        self.view.lookup(key)
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, EngineError> {
        self.reads().keys(keys);
        self.view.lookup_many(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, EngineError> {
        Ok(self.walk(scan).await?.found)
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError> {
        Ok(self.walk(&counting(range, cap)).await?.visited)
    }
}

#[async_trait]
impl Transaction for RedbTransaction {
    async fn commit(self: Box<Self>, writes: WriteSet) -> Result<(), CommitError> {
        check_sizes(&writes)?;
        if writes.is_empty() {
            return Ok(());
        }
        let Self { view: RedbView { table, shared, since, .. }, reads } = *self;
        // An open snapshot would keep the pages that this commit frees.
        drop(table);
        let reads = reads.into_inner().unwrap_or_else(PoisonError::into_inner);
        let bytes = size(&writes).min(QUEUE_MAX_BYTES);
        let permits = u32::try_from(bytes).expect("the queue is smaller than 4 GiB");
        let room = Arc::clone(&shared.room).acquire_many_owned(permits).await.map_err(|_| EngineError::Unavailable)?;
        let (answer, answered) = oneshot::channel();
        let commit = Commit { since, reads, writes, bytes, answer, _room: room };
        shared.requests.send(Request::Commit(commit)).map_err(|_| EngineError::Unavailable)?;
        // The writer answers everyone unless it panics, and then nobody knows.
        answered.await.unwrap_or(Err(CommitError::Unknown(EngineError::Unavailable)))
    }
}

/// What `writes` take up in memory, about.
fn size(writes: &WriteSet) -> usize {
    const OVERHEAD: usize = 128;
    writes.iter().map(|(key, value)| OVERHEAD + key.len() + value.as_ref().map_or(0, Bytes::len)).sum()
}
