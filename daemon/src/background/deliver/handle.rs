//! Where a worker and the others meet: calls, and deliveries whose results are not recorded yet.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use tokio::sync::Notify;

const CALLED: u8 = 1;
const URGENTLY: u8 = 2;

/// Shared by a worker, the desk that calls it and the recorder.
#[derive(Debug, Default)]
pub(super) struct WorkerHandle {
    calls: AtomicU8,
    claims: Mutex<BTreeSet<u64>>,
    signal: Notify,
}

impl WorkerHandle {
    /// There is something in line.
    pub(super) fn call(&self, urgent: bool) {
        self.calls.fetch_or(if urgent { CALLED | URGENTLY } else { CALLED }, Ordering::SeqCst);
        self.signal.notify_one();
    }

    /// Whether there was a call since the last question, and whether it was urgent.
    pub(super) fn called(&self) -> Option<bool> {
        let calls = self.calls.swap(0, Ordering::SeqCst);
        (calls != 0).then_some(calls & URGENTLY != 0)
    }

    /// Whether there was an urgent call since the last question.
    pub(super) fn is_urgent(&self) -> bool {
        self.calls.load(Ordering::SeqCst) & URGENTLY != 0
    }

    /// Takes a delivery into hands: it stays in line, but is not taken again.
    pub(super) fn claim(&self, delivery: u64) {
        self.lock().insert(delivery);
    }

    /// The result of a delivery is durable.
    pub(super) fn recorded(&self, delivery: u64) {
        self.lock().remove(&delivery);
        self.signal.notify_one();
    }

    /// What is in hands. To be asked before the line is read: what leaves it between is gone from both.
    pub(super) fn claims(&self) -> BTreeSet<u64> {
        self.lock().clone()
    }

    /// How much is in hands.
    pub(super) fn held(&self) -> usize {
        self.lock().len()
    }

    /// Waits for a call or for a result that has become durable.
    pub(super) async fn changed(&self) {
        self.signal.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
