//! Tracks which ids of audit entries are reserved and not yet released.
//!
//! Ids are reserved before the transactions that use them, and transactions end in any order. A reader that has seen
//! entry 7 must not miss entry 6 because it was committed later, so it reads only up to the first open id.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::store::{Store, StoreError, ids::IdKind};

/// Tracks ids from reservation to release.
#[derive(Debug)]
pub(super) struct SequenceTracker {
    /// Held while an id is reserved and noted, so that ids are noted in order.
    reserving: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    settled: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    open: BTreeSet<u64>,
    /// The highest id that was ever reserved.
    last: u64,
}

impl SequenceTracker {
    /// Creates a tracker that has released all ids up to `last`.
    pub(super) fn new(last: u64) -> Self {
        let state = Mutex::new(State { open: BTreeSet::new(), last });
        Self { reserving: tokio::sync::Mutex::default(), state, settled: watch::Sender::new(()) }
    }

    /// Reserves `count` ids and appends them to `into`. On an error, `into` has the ids reserved so far.
    pub(super) async fn take(&self, store: &Store, count: usize, into: &mut Vec<u64>) -> Result<(), StoreError> {
        let _guard = self.reserving.lock().await;
        for _ in 0..count {
            let id = store.next_id(IdKind::Audit).await?;
            into.push(id);
            let mut state = self.state();
            state.open.insert(id);
            state.last = id;
        }
        Ok(())
    }

    /// Releases ids: their transaction has ended.
    pub(super) fn release(&self, numbers: &[u64]) {
        let mut state = self.state();
        for id in numbers {
            state.open.remove(id);
        }
        drop(state);
        self.settled.send_replace(());
    }

    /// Returns the first id that may still be committed: all lower ids are committed or never will be. Call it before
    /// taking a snapshot of the store.
    pub(super) fn unsettled(&self) -> u64 {
        let state = self.state();
        state.open.first().copied().unwrap_or(state.last + 1)
    }

    /// Returns a receiver that is notified each time ids are released.
    pub(super) fn listen(&self) -> watch::Receiver<()> {
        self.settled.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::engine::MemoryEngine;

    #[tokio::test]
    async fn ids_are_settled_only_up_to_the_first_open_id() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let tracker = SequenceTracker::new(0);
        assert_eq!(tracker.unsettled(), 1);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        tracker.take(&store, 2, &mut first).await.expect("numbers");
        tracker.take(&store, 1, &mut second).await.expect("numbers");
        assert_eq!((first.as_slice(), second.as_slice()), (&[1, 2][..], &[3][..]));
        let mut changes = tracker.listen();
        tracker.release(&second);
        assert!(changes.has_changed().expect("open"));
        changes.mark_unchanged();
        assert_eq!(tracker.unsettled(), 1);
        tracker.release(&first);
        assert_eq!(tracker.unsettled(), 4);
    }
}
