//! An engine whose commits can be stopped.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Semaphore;

use crate::store::engine::{
    CommitError, Engine, EngineError, EngineInfo, Faults, Key, MemoryEngine, Range, Scan, Transaction, View, WriteSet,
};

/// An engine in memory whose commits can be stopped before and after they take effect.
pub(super) struct GatedEngine {
    engine: MemoryEngine,
    pub(super) gates: Arc<Gates>,
}

/// The gates of a [`GatedEngine`]. Each permit lets one commit pass.
pub(super) struct Gates {
    pub(super) before: Semaphore,
    pub(super) after: Semaphore,
    /// Number of entries that scans returned.
    pub(super) entries_read: AtomicUsize,
}

impl GatedEngine {
    pub(super) fn new() -> Self {
        let gates = Gates { before: Semaphore::new(0), after: Semaphore::new(0), entries_read: AtomicUsize::new(0) };
        Self { engine: MemoryEngine::new(), gates: Arc::new(gates) }
    }

    /// Like [`GatedEngine::new`], for several daemons. `engine` has the rows.
    pub(super) fn over(engine: MemoryEngine) -> Self {
        Self { engine, ..Self::new() }
    }

    pub(super) fn faults(&self) -> Faults {
        self.engine.faults()
    }
}

impl Gates {
    /// Lets all commits pass.
    pub(super) fn open(&self) {
        for gate in [&self.before, &self.after] {
            gate.add_permits(1_000);
        }
    }

    /// Stops further commits.
    pub(super) fn close(&self) {
        for gate in [&self.before, &self.after] {
            gate.forget_permits(usize::MAX);
        }
    }
}

#[async_trait]
impl Engine for GatedEngine {
    fn is_shared(&self) -> bool {
        self.engine.is_shared()
    }

    async fn snapshot(&self) -> Result<Box<dyn View>, EngineError> {
        Ok(Box::new(GatedTransaction { inner: self.engine.begin().await?, gates: Arc::clone(&self.gates) }))
    }

    async fn begin(&self) -> Result<Box<dyn Transaction>, EngineError> {
        Ok(Box::new(GatedTransaction { inner: self.engine.begin().await?, gates: Arc::clone(&self.gates) }))
    }

    async fn health(&self) -> Result<EngineInfo, EngineError> {
        self.engine.health().await
    }
}

struct GatedTransaction {
    inner: Box<dyn Transaction>,
    gates: Arc<Gates>,
}

#[async_trait]
impl View for GatedTransaction {
    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, EngineError> {
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, EngineError> {
        self.inner.get_many(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<(Key, Bytes)>, EngineError> {
        let entries = self.inner.scan(scan).await?;
        self.gates.entries_read.fetch_add(entries.len(), Ordering::SeqCst);
        Ok(entries)
    }

    async fn count(&self, range: &Range, cap: u64) -> Result<u64, EngineError> {
        self.inner.count(range, cap).await
    }

    async fn settled(&self) -> Result<u64, EngineError> {
        self.inner.settled().await
    }
}

#[async_trait]
impl Transaction for GatedTransaction {
    async fn order(&self) -> Result<u64, EngineError> {
        self.inner.order().await
    }

    async fn commit(self: Box<Self>, writes: WriteSet) -> Result<(), CommitError> {
        self.gates.before.acquire().await.expect("never closed").forget();
        let result = self.inner.commit(writes).await;
        self.gates.after.acquire().await.expect("never closed").forget();
        result
    }
}
