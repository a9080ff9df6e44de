//! Snapshots and transactions. Reads of a transaction include its own writes; conflicts are retried; an unknown
//! outcome of a commit is returned as an error.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use prost::Message;
use tokio::{sync::OnceCell, time::Instant};

use super::{
    Read, StoreError,
    engine::{CommitError, Engine, EngineError, Key, RETRY_TIME, Range, Scan, Transaction, View, WriteSet},
    keyring::Keyring,
    leases,
    order::{self, Ordered},
    range_counts::{CommitNumber, CountBucket, KeyFilter, RangeCounter, RangeCounts},
    retries::Retries,
    sealed,
};
use crate::{
    clock::{Clock, Millis, StoreTime},
    tasks,
};

/// Attempts after which the engine may make a transaction wait for others that have conflicted as often.
const FREE_TRIES: u32 = 3;
/// Limits of the pause between two attempts. The pause is random below a doubling bound.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(64);

/// A consistent state of the store. Drop it soon: the file grows while an old snapshot is open.
pub struct Snapshot {
    view: Box<dyn View>,
    range_counts: Arc<RangeCounts>,
    /// Every commit with a smaller number is in the view.
    ended_before: CommitNumber,
    keyring: Option<Arc<Keyring>>,
}

impl Snapshot {
    pub(super) fn new(
        view: Box<dyn View>,
        range_counts: Arc<RangeCounts>,
        ended_before: CommitNumber,
        keyring: Option<Arc<Keyring>>,
    ) -> Self {
        Self { view, range_counts, ended_before, keyring }
    }

    /// Counts the entries of `range` that pass `filter`, in buckets in key order that cover the whole range. The counts
    /// may lack commits of other daemons that ended in the last two seconds, see [`counts_are_exact`].
    ///
    /// [`counts_are_exact`]: Self::counts_are_exact
    pub(super) async fn range_counts(&self, range: &Range, filter: &KeyFilter) -> Result<Vec<CountBucket>, StoreError> {
        // The kept counts are read before the rows, and must not be older.
        self.view.fix().await?;
        Ok(self.counter().count(range, filter).await?)
    }

    /// Like [`range_counts`](Self::range_counts), with all commits that the snapshot contains.
    pub(super) async fn exact_range_counts(
        &self,
        range: &Range,
        filter: &KeyFilter,
    ) -> Result<Vec<CountBucket>, StoreError> {
        if self.counts_are_exact() {
            return self.range_counts(range, filter).await;
        }
        Ok(self.counter().count_anew(range, filter).await?)
    }

    /// Returns whether the counts of [`range_counts`](Self::range_counts) contain all commits that the snapshot
    /// contains.
    pub(super) fn counts_are_exact(&self) -> bool {
        self.range_counts.are_exact()
    }

    fn counter(&self) -> RangeCounter<'_> {
        let Self { view, range_counts, ended_before, .. } = self;
        RangeCounter { view: view.as_ref(), range_counts, ended_before: *ended_before }
    }

    /// Returns the time by the clock of the store. It is that of the daemon, `clock_ms`, if the engine has none.
    pub(super) async fn now_ms(&self, clock_ms: Millis) -> Result<Millis, StoreError> {
        Ok(self.view.now_ms().await?.unwrap_or(clock_ms))
    }

    /// Returns the order below which all transactions have ended, without the base of the store.
    pub(super) async fn settled(&self) -> Result<u64, StoreError> {
        Ok(self.view.settled().await?)
    }
}

impl Read for Snapshot {
    async fn get_bytes(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.view.get(key).await?)
    }

    async fn get_many_bytes(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(self.view.get_many(keys).await?)
    }

    async fn scan_bytes(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, StoreError> {
        Ok(self.view.scan(scan).await?)
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, StoreError> {
        Ok(self.view.count(range, cap).await?)
    }

    fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_deref()
    }
}

/// A running transaction. Clones share it. It must not outlive its closure.
#[derive(Clone)]
pub struct Tx {
    inner: Arc<Inner>,
}

struct Inner {
    transaction: Box<dyn Transaction>,
    writes: Mutex<WriteSet>,
    /// Whether a read has failed because of a conflict. The result of the closure is meaningless then.
    conflicted: AtomicBool,
    /// The order with the base of the store.
    order: OnceCell<u64>,
    /// Number of ids that were derived from the order, for each kind.
    places: [AtomicU64; Ordered::COUNT],
    keyring: Option<Arc<Keyring>>,
}

impl Tx {
    fn new(transaction: Box<dyn Transaction>, keyring: Option<Arc<Keyring>>) -> Self {
        let (writes, conflicted) = (Mutex::default(), AtomicBool::new(false));
        let (order, places) = (OnceCell::new(), Default::default());
        Self { inner: Arc::new(Inner { transaction, writes, conflicted, order, places, keyring }) }
    }

    /// Returns the order of this transaction with the base of the store.
    pub(super) async fn order(&self) -> Result<u64, StoreError> {
        let read = async || {
            let (order, base) = tokio::join!(self.inner.transaction.order(), order::base(self));
            Ok::<_, StoreError>(self.inner.read(order)? + base?)
        };
        Ok(*self.inner.order.get_or_try_init(read).await?)
    }

    /// Returns the number of ids of `kind` that were derived from the order.
    pub(super) fn places(&self, kind: Ordered) -> &AtomicU64 {
        &self.inner.places[kind as usize]
    }

    /// Measures the clock of the store. `None`: it has none.
    pub async fn measure(&self, clock: &Clock) -> Result<Option<StoreTime>, StoreError> {
        let sent_ms = clock.monotonic_ms();
        let store_ms = self.inner.read(self.inner.transaction.now_ms().await)?;
        let received_ms = clock.monotonic_ms();
        Ok(store_ms.map(|store_ms| StoreTime { store_ms, sent_ms, received_ms }))
    }

    /// Returns the time by the clock of the store. It is that of the daemon, `clock_ms`, if the engine has none.
    pub async fn now_ms(&self, clock_ms: Millis) -> Result<Millis, StoreError> {
        Ok(self.inner.read(self.inner.transaction.now_ms().await)?.unwrap_or(clock_ms))
    }

    /// Writes `row` to `key` when the transaction commits. Its secrets are encrypted.
    pub fn put(&self, key: Key, row: &impl Message) {
        let value = sealed::encode(self.keyring(), &key, row);
        self.put_bytes(key, value);
    }

    /// Writes an encoded value.
    pub(super) fn put_bytes(&self, key: Key, value: Bytes) {
        self.inner.writes().insert(key, Some(value));
    }

    /// Deletes `key` when the transaction commits.
    pub fn delete(&self, key: Key) {
        self.inner.writes().insert(key, None);
    }

    async fn commit(self, range_counts: &Arc<RangeCounts>) -> Result<(), CommitError> {
        let inner = Arc::into_inner(self.inner).expect("a transaction does not outlive its closure");
        let writes = inner.writes.into_inner().unwrap_or_else(PoisonError::into_inner);
        if writes.is_empty() {
            return inner.transaction.commit(writes).await;
        }
        let in_progress = range_counts.begin_commit(&writes);
        let commit = inner.transaction.commit(writes);
        // If the caller stops waiting, the commit may still take place. The range counts must see its end.
        let committed = tasks::detached(async move {
            let result = commit.await;
            drop(in_progress);
            result
        });
        committed.await.unwrap_or(Err(CommitError::Unknown(EngineError::Unavailable)))
    }
}

impl Inner {
    /// Converts the result of a read, and remembers a conflict.
    fn read<T>(&self, result: Result<T, EngineError>) -> Result<T, StoreError> {
        if matches!(result, Err(EngineError::Conflict)) {
            self.conflicted.store(true, Ordering::SeqCst);
        }
        Ok(result?)
    }

    fn writes(&self) -> std::sync::MutexGuard<'_, WriteSet> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the transaction's own writes in `range`.
    fn written(&self, range: &Range) -> BTreeMap<Key, Option<Bytes>> {
        self.writes().range::<[u8], _>(range.bounds()).map(|(k, v)| (k.clone(), v.clone())).collect()
    }
}

impl Read for Tx {
    async fn get_bytes(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let own = self.inner.writes().get(key).cloned();
        match own {
            Some(written) => Ok(written),
            None => self.inner.read(self.inner.transaction.get(key).await),
        }
    }

    async fn get_many_bytes(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let mut values = self.inner.read(self.inner.transaction.get_many(keys).await)?;
        let writes = self.inner.writes();
        for (key, value) in keys.iter().zip(&mut values) {
            if let Some(written) = writes.get(key) {
                value.clone_from(written);
            }
        }
        Ok(values)
    }

    async fn scan_bytes(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, StoreError> {
        let own = self.inner.written(&scan.range);
        if own.is_empty() {
            return self.inner.read(self.inner.transaction.scan(scan).await);
        }
        // Own deletions hide stored keys, so that many more keys are read. `skip` applies to the merged keys.
        let skip = usize::try_from(scan.skip).unwrap_or(usize::MAX);
        let needed = scan.limit.saturating_add(skip);
        let wide = Scan { skip: 0, limit: needed.saturating_add(own.len()), ..scan.clone() };
        let stored = self.inner.read(self.inner.transaction.scan(&wide).await)?;
        let mut merged: BTreeMap<Key, Bytes> = stored.into_iter().collect();
        for (key, written) in own {
            match written {
                Some(bytes) => merged.insert(key, bytes),
                None => merged.remove(&key),
            };
        }
        let ordered: Box<dyn Iterator<Item = _> + Send> =
            if scan.reverse { Box::new(merged.into_iter().rev()) } else { Box::new(merged.into_iter()) };
        Ok(ordered.skip(skip).take(scan.limit).collect())
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, StoreError> {
        if self.inner.written(range).is_empty() {
            return self.inner.read(self.inner.transaction.count(range, cap).await);
        }
        let limit = usize::try_from(cap).unwrap_or(usize::MAX);
        Ok(self.scan_bytes(&Scan::of(range.clone(), limit)).await?.len() as u64)
    }

    fn keyring(&self) -> Option<&Keyring> {
        self.inner.keyring.as_deref()
    }
}

/// Runs `work` until it commits or fails. It is not repeated after [`RETRY_TIME`].
pub(super) async fn run<T, E, F, Fut>(
    engine: &dyn Engine,
    range_counts: &Arc<RangeCounts>,
    keyring: Option<Arc<Keyring>>,
    retries: &Retries,
    work: F,
) -> Result<T, E>
where
    F: Fn(Tx) -> Fut + Send + Sync,
    Fut: Future<Output = Result<T, E>> + Send,
    E: From<StoreError>,
{
    let deadline = Instant::now() + RETRY_TIME;
    let mut tries = 0;
    while tries == 0 || Instant::now() < deadline {
        let attempt = tries;
        tries += 1;
        if attempt > 0 {
            retries.count();
        }
        let begun = if attempt < FREE_TRIES { engine.begin().await } else { engine.begin_after_conflicts().await };
        let tx = Tx::new(begun.map_err(StoreError::from)?, keyring.clone());
        let result = match leases::check(&tx).await {
            Ok(()) => work(tx.clone()).await,
            Err(error) => Err(error.into()),
        };
        if tx.inner.conflicted.load(Ordering::SeqCst) {
            drop((tx, result));
            tokio::time::sleep(pause(attempt)).await;
            continue;
        }
        let result = result?;
        match tx.commit(range_counts).await {
            Ok(()) => return Ok(result),
            Err(CommitError::Conflict) => tokio::time::sleep(pause(attempt)).await,
            Err(CommitError::Unknown(source)) => return Err(StoreError::Unknown(source).into()),
            Err(CommitError::Engine(source)) => return Err(StoreError::Engine(source).into()),
        }
    }
    Err(StoreError::Contended { tries }.into())
}

/// Returns a random pause below a bound that doubles, so that conflicting transactions do not conflict again.
fn pause(attempt: u32) -> Duration {
    let bound = PAUSE_MIN.saturating_mul(1 << attempt.min(16)).min(PAUSE_MAX);
    let mut random = [0; 4];
    // If no randomness is available, the longest pause is used.
    let share =
        getrandom::fill(&mut random).map_or(1.0, |()| f64::from(u32::from_le_bytes(random)) / f64::from(u32::MAX));
    bound.mul_f64(share)
}

#[cfg(test)]
mod tests;
