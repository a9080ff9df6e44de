//! An engine in memory that counts the rows that snapshots read and those of each commit, and can hold back commits and
//! scans.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use farrierd::store::engine::{
    CommitError, Engine, EngineError, EngineInfo, Key, MemoryEngine, Range, Scan, Transaction, View, WriteSet,
};
use tokio::sync::watch;

/// Controls the engine. Clones control the same one.
#[derive(Clone)]
pub struct CommitControl {
    largest: Arc<AtomicUsize>,
    /// Only keys with this prefix count.
    counted: Arc<Mutex<&'static [u8]>>,
    /// Commits that write a key with this prefix wait.
    held: watch::Sender<Option<&'static [u8]>>,
    waiting: Arc<Mutex<usize>>,
    read: Arc<Mutex<ReadCount>>,
    /// Scans of snapshots wait if their range begins with this prefix.
    held_scans: watch::Sender<Option<&'static [u8]>>,
}

/// The rows that snapshots read.
#[derive(Default)]
struct ReadCount {
    /// Only keys with this prefix count.
    prefix: Key,
    rows: usize,
}

impl CommitControl {
    /// The largest number of rows that one commit wrote or deleted.
    pub fn largest_commit(&self) -> usize {
        self.largest.load(Ordering::SeqCst)
    }

    /// Sets the largest number to 0.
    pub fn reset(&self) {
        self.largest.store(0, Ordering::SeqCst);
    }

    /// Sets the largest number to 0, and counts only rows whose keys have this prefix from now on.
    pub fn count_only(&self, prefix: &'static [u8]) {
        *self.counted.lock().expect("a lock") = prefix;
        self.reset();
    }

    /// Sets the number of rows that snapshots read to 0, and counts only rows whose keys have this prefix from now on.
    pub fn count_reads(&self, prefix: Key) {
        *self.read.lock().expect("a lock") = ReadCount { prefix, rows: 0 };
    }

    /// The number of rows that snapshots read, skipped or counted.
    pub fn reads(&self) -> usize {
        self.read.lock().expect("a lock").rows
    }

    /// Counts `others` rows if `range` has the prefix, and the rows with these keys that have it.
    fn note_reads<'a>(&self, range: Option<&Range>, others: u64, keys: impl Iterator<Item = &'a [u8]>) {
        let mut read = self.read.lock().expect("a lock");
        let counted = keys.filter(|key| key.starts_with(&read.prefix)).count();
        let others = if range.is_some_and(|range| range.low.starts_with(&read.prefix)) { others } else { 0 };
        read.rows += counted + usize::try_from(others).expect("a small number");
    }

    /// Holds back commits that write a key with this prefix; `None` releases them.
    pub fn hold(&self, prefix: Option<&'static [u8]>) {
        self.held.send_replace(prefix);
    }

    /// Holds back scans of snapshots whose range begins with this prefix; `None` releases them.
    pub fn hold_scans(&self, prefix: Option<&'static [u8]>) {
        self.held_scans.send_replace(prefix);
    }

    /// Number of commits that are held back.
    pub fn waiting(&self) -> usize {
        *self.waiting.lock().expect("a lock")
    }
}

/// The engine.
pub struct CountingEngine {
    inner: MemoryEngine,
    control: CommitControl,
}

impl CountingEngine {
    pub fn new() -> Self {
        let control = CommitControl {
            largest: Arc::default(),
            counted: Arc::default(),
            held: watch::Sender::new(None),
            waiting: Arc::default(),
            read: Arc::default(),
            held_scans: watch::Sender::new(None),
        };
        Self { inner: MemoryEngine::new(), control }
    }

    pub fn control(&self) -> CommitControl {
        self.control.clone()
    }
}

#[async_trait]
impl Engine for CountingEngine {
    async fn snapshot(&self) -> Result<Box<dyn View>, EngineError> {
        let inner = self.inner.snapshot().await?;
        Ok(Box::new(CountingView { inner, control: self.control.clone() }))
    }

    async fn begin(&self) -> Result<Box<dyn Transaction>, EngineError> {
        let inner = self.inner.begin().await?;
        Ok(Box::new(CountingTransaction { inner, control: self.control.clone() }))
    }

    async fn health(&self) -> Result<EngineInfo, EngineError> {
        self.inner.health().await
    }
}

struct CountingView {
    inner: Box<dyn View>,
    control: CommitControl,
}

#[async_trait]
impl View for CountingView {
    async fn fix(&self) -> Result<(), EngineError> {
        self.inner.fix().await
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        self.control.note_reads(None, 0, std::iter::once(key));
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, EngineError> {
        self.control.note_reads(None, 0, keys.iter().map(Vec::as_slice));
        self.inner.get_many(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, EngineError> {
        let mut held = self.control.held_scans.subscribe();
        let is_free = held.wait_for(|held| held.is_none_or(|prefix| !scan.range.low.starts_with(prefix)));
        is_free.await.expect("the control exists");
        let found = self.inner.scan(scan).await?;
        self.control.note_reads(Some(&scan.range), scan.skip, found.iter().map(|(key, _)| key.as_slice()));
        Ok(found)
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError> {
        let counted = self.inner.count(range, cap).await?;
        self.control.note_reads(Some(range), counted, std::iter::empty());
        Ok(counted)
    }

    async fn settled(&self) -> Result<u64, EngineError> {
        self.inner.settled().await
    }
}

struct CountingTransaction {
    inner: Box<dyn Transaction>,
    control: CommitControl,
}

#[async_trait]
impl View for CountingTransaction {
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, EngineError> {
        self.inner.get_many(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, EngineError> {
        self.inner.scan(scan).await
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError> {
        self.inner.count(range, cap).await
    }

    async fn settled(&self) -> Result<u64, EngineError> {
        self.inner.settled().await
    }
}

#[async_trait]
impl Transaction for CountingTransaction {
    async fn order(&self) -> Result<u64, EngineError> {
        self.inner.order().await
    }

    async fn commit(self: Box<Self>, writes: WriteSet) -> Result<(), CommitError> {
        let Self { inner, control } = *self;
        let mut held = control.held.subscribe();
        #[expect(clippy::ref_option_ref, reason = "the form of a condition of a watch channel")]
        let is_free = |prefix: &Option<&'static [u8]>| {
            prefix.is_none_or(|prefix| !writes.keys().any(|key| key.starts_with(prefix)))
        };
        if !is_free(&held.borrow()) {
            *control.waiting.lock().expect("a lock") += 1;
            held.wait_for(is_free).await.expect("the control exists");
            *control.waiting.lock().expect("a lock") -= 1;
        }
        let counted = *control.counted.lock().expect("a lock");
        control.largest.fetch_max(writes.keys().filter(|key| key.starts_with(counted)).count(), Ordering::SeqCst);
        inner.commit(writes).await
    }
}
