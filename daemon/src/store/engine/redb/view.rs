//! Reads from snapshots of the database, and the read sets of transactions.
//!
//! Short reads run on the async worker of the caller. Longer scans and reads of many keys move to a blocking
//! thread. Only a commit waits for the writer.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ::redb::{AccessGuard, StorageError};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    Shared, Table,
    writer::{CommitRequest, QUEUE_MAX_BYTES, Request},
};
use crate::{
    store::engine::{
        CommitError, EngineError, Key, Range, Scan, Transaction, View, WriteSet,
        optimistic::{Reads, Version, check_sizes},
        orders::Order,
    },
    tasks,
};

/// Most keys that are read on an async worker: enough for a page of a list. Takes less than 0.1 ms if the pages
/// are cached; otherwise at most this many reads from a slow disk.
const INLINE_KEYS_MAX: u64 = 128;

/// A view of the database at one state.
pub(super) struct RedbView {
    table: Arc<Table>,
    shared: Arc<Shared>,
    generation: u64,
    /// All transactions with a smaller order had ended before the view was created.
    settled: u64,
}

impl RedbView {
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self, EngineError> {
        let settled = shared.orders.settled();
        let (table, generation) = shared.table()?;
        Ok(Self { table, shared: Arc::clone(shared), generation, settled })
    }

    /// Returns the values of `keys`, in the same order.
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

    /// Runs `scan` to its end or its limit.
    async fn run_scan(&self, scan: &Scan) -> Result<ScanCursor, EngineError> {
        let (mut cursor, mut finished) = self.shared.guarded(|| {
            let pairs = self.table.range::<&[u8]>(scan.range.bounds()).map_err(|error| self.failed(error))?;
            let mut cursor = ScanCursor::new(pairs, scan);
            let finished = cursor.visit(INLINE_KEYS_MAX).map_err(|error| self.failed(error))?;
            Ok((cursor, finished))
        })?;
        if !finished {
            let (shared, generation) = (Arc::clone(&self.shared), self.generation);
            (cursor, finished) = tasks::blocking(move || {
                shared.guarded(|| {
                    let visited = cursor.visit(u64::MAX);
                    let finished = visited.map_err(|error| shared.read_failed(error.into(), generation))?;
                    Ok((cursor, finished))
                })
            })
            .await?;
        }
        debug_assert!(finished, "the second visit has no limit");
        Ok(cursor)
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
        Ok(self.run_scan(scan).await?.found)
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError> {
        Ok(self.run_scan(&counting(range, cap)).await?.visited)
    }

    async fn settled(&self) -> Result<u64, EngineError> {
        Ok(self.settled)
    }
}

/// Returns a scan that visits up to `cap` keys and returns none.
fn counting(range: &Range, cap: u64) -> Scan {
    Scan { skip: cap, ..Scan::of(range.clone(), 0) }
}

/// A scan in progress.
struct ScanCursor {
    pairs: ::redb::Range<'static, &'static [u8], &'static [u8]>,
    reverse: bool,
    skip: u64,
    visits_max: u64,
    visited: u64,
    last: Option<AccessGuard<'static, &'static [u8]>>,
    found: Vec<(Key, Bytes)>,
}

impl ScanCursor {
    fn new(pairs: ::redb::Range<'static, &'static [u8], &'static [u8]>, scan: &Scan) -> Self {
        let visits_max = scan.skip.saturating_add(scan.limit as u64);
        let reverse = scan.reverse;
        Self { pairs, reverse, skip: scan.skip, visits_max, visited: 0, last: None, found: Vec::new() }
    }

    /// Visits up to `budget` more keys. Returns whether the scan is finished.
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

    /// Returns the last visited key if the scan stopped before the end of its range.
    fn stopped_at(&self) -> Option<&[u8]> {
        if self.visited < self.visits_max {
            return None;
        }
        self.last.as_ref().map(AccessGuard::value)
    }
}

/// A view that records its reads.
pub(super) struct RedbTransaction {
    view: RedbView,
    /// The state of the view has this version or a newer one.
    since: Version,
    reads: Mutex<Reads>,
    order: OnceLock<Order>,
}

impl RedbTransaction {
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self, EngineError> {
        // Read before the view is created. See `Shared::committed`.
        let since = shared.committed();
        Ok(Self { view: RedbView::begin(shared)?, since, reads: Mutex::default(), order: OnceLock::new() })
    }

    fn reads(&self) -> MutexGuard<'_, Reads> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run_scan(&self, scan: &Scan) -> Result<ScanCursor, EngineError> {
        let cursor = self.view.run_scan(scan).await?;
        self.reads().scan(scan, cursor.stopped_at());
        Ok(cursor)
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
        Ok(self.run_scan(scan).await?.found)
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError> {
        Ok(self.run_scan(&counting(range, cap)).await?.visited)
    }

    async fn settled(&self) -> Result<u64, EngineError> {
        self.view.settled().await
    }
}

#[async_trait]
impl Transaction for RedbTransaction {
    async fn order(&self) -> Result<u64, EngineError> {
        Ok(self.order.get_or_init(|| self.view.shared.orders.take()).number)
    }

    async fn commit(self: Box<Self>, writes: WriteSet) -> Result<(), CommitError> {
        check_sizes(&writes)?;
        if writes.is_empty() {
            return Ok(());
        }
        let Self { view: RedbView { table, shared, .. }, since, reads, order } = *self;
        // An open snapshot would prevent the commit from freeing pages.
        drop(table);
        let reads = reads.into_inner().unwrap_or_else(PoisonError::into_inner);
        let bytes = size(&writes).min(QUEUE_MAX_BYTES);
        let permits = u32::try_from(bytes).expect("the queue is smaller than 4 GiB");
        let permits = Arc::clone(&shared.queue_permits)
            .acquire_many_owned(permits)
            .await
            .map_err(|_| EngineError::Unavailable)?;
        let (reply, result) = oneshot::channel();
        let order = order.into_inner();
        let commit = CommitRequest { since, reads, writes, bytes, order, reply, _permits: permits };
        shared.requests.send(Request::Commit(commit)).map_err(|_| EngineError::Unavailable)?;
        // The writer always replies unless it panics. In that case the outcome is unknown.
        result.await.unwrap_or(Err(CommitError::Unknown(EngineError::Unavailable)))
    }
}

/// Returns the approximate memory use of `writes`, bytes.
fn size(writes: &WriteSet) -> usize {
    const OVERHEAD: usize = 128;
    writes.iter().map(|(key, value)| OVERHEAD + key.len() + value.as_ref().map_or(0, Bytes::len)).sum()
}
