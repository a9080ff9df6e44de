//! What a worker shares with the dispatcher and the recorder: wake-ups, and the claims on its deliveries.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use tokio::sync::Notify;

const WOKEN: u8 = 1;
const URGENT: u8 = 2;

/// Wake-ups and claims of one worker. The dispatcher wakes the worker; the recorder releases its claims.
#[derive(Debug, Default)]
pub(super) struct WorkerHandle {
    wakes: AtomicU8,
    claims: Mutex<BTreeSet<u64>>,
    signal: Notify,
}

impl WorkerHandle {
    /// Wakes the worker: something was queued.
    pub(super) fn wake(&self, urgent: bool) {
        self.wakes.fetch_or(if urgent { WOKEN | URGENT } else { WOKEN }, Ordering::SeqCst);
        self.signal.notify_one();
    }

    /// Takes the pending wake-up, if there is one. Returns whether it was urgent.
    pub(super) fn take_wake(&self) -> Option<bool> {
        let wakes = self.wakes.swap(0, Ordering::SeqCst);
        (wakes != 0).then_some(wakes & URGENT != 0)
    }

    /// Returns whether an urgent wake-up is pending.
    pub(super) fn is_urgent(&self) -> bool {
        self.wakes.load(Ordering::SeqCst) & URGENT != 0
    }

    /// Claims a delivery: it stays in the queue, but the worker does not take it again.
    pub(super) fn claim(&self, delivery: u64) {
        self.lock().insert(delivery);
    }

    /// Releases a claim, because the result of the delivery is recorded.
    pub(super) fn release(&self, delivery: u64) {
        self.lock().remove(&delivery);
        self.signal.notify_one();
    }

    /// Returns the claims. Call this before reading the queue: a delivery that is recorded in between is then in the
    /// claims but not in the queue, and is not sent twice.
    pub(super) fn claims(&self) -> BTreeSet<u64> {
        self.lock().clone()
    }

    /// Returns the number of claims.
    pub(super) fn claimed(&self) -> usize {
        self.lock().len()
    }

    /// Waits for a wake-up or for a released claim.
    pub(super) async fn changed(&self) {
        self.signal.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
