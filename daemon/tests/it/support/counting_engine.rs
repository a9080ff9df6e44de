//! An engine in memory that counts the rows of each commit and can hold back commits.

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

    /// Holds back commits that write a key with this prefix; `None` releases them.
    pub fn hold(&self, prefix: Option<&'static [u8]>) {
        self.held.send_replace(prefix);
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
        self.inner.snapshot().await
    }

    async fn begin(&self) -> Result<Box<dyn Transaction>, EngineError> {
        let inner = self.inner.begin().await?;
        Ok(Box::new(CountingTransaction { inner, control: self.control.clone() }))
    }

    async fn health(&self) -> Result<EngineInfo, EngineError> {
        self.inner.health().await
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
}

#[async_trait]
impl Transaction for CountingTransaction {
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
