//! Which numbers of events are taken and not yet settled.
//!
//! Numbers are taken before the transactions that use them, which end in any order. A reader that
//! has seen number 7 must not miss 6 because it was committed later, so it reads only up to the
//! first number that is still open.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::store::{Store, StoreError, events, ids::Kind};

/// Numbers of events, from being taken to being settled.
#[derive(Debug)]
pub struct Ledger {
    /// Makes taking a number and noting it one step.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    settled: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    open: BTreeSet<u64>,
    /// The highest number that was ever taken.
    last: u64,
}

impl Ledger {
    /// A ledger in which all events of `store` are settled.
    pub async fn open(store: &Store) -> Result<Self, StoreError> {
        let last = events::last(&store.read().await?).await?;
        let state = State { open: BTreeSet::new(), last };
        Ok(Self { turn: tokio::sync::Mutex::default(), state: Mutex::new(state), settled: watch::Sender::new(()) })
    }

    /// Takes `count` numbers into `into`; also those that were taken before a failure stand there.
    pub(super) async fn take(&self, store: &Store, count: usize, into: &mut Vec<u64>) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        for _ in 0..count {
            let id = store.next_id(Kind::Event).await?;
            into.push(id);
            let mut state = self.state();
            state.open.insert(id);
            state.last = id;
        }
        Ok(())
    }

    /// What was done with these numbers is done.
    pub(super) fn give_back(&self, numbers: &[u64]) {
        let mut state = self.state();
        for id in numbers {
            state.open.remove(id);
        }
        drop(state);
        self.settled.send_replace(());
    }

    /// The first number that may still be used: what is below it is there or never will be. To be
    /// asked before the store is.
    pub fn unsettled(&self) -> u64 {
        let state = self.state();
        state.open.first().copied().unwrap_or(state.last + 1)
    }

    /// Hears of every settled number from now on.
    pub fn listen(&self) -> watch::Receiver<()> {
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
    async fn nothing_beyond_an_open_number_is_settled() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let ledger = Ledger::open(&store).await.expect("a ledger");
        assert_eq!(ledger.unsettled(), 1);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        ledger.take(&store, 2, &mut first).await.expect("numbers");
        ledger.take(&store, 1, &mut second).await.expect("numbers");
        assert_eq!((first.as_slice(), second.as_slice()), (&[1, 2][..], &[3][..]));
        let mut heard = ledger.listen();
        ledger.give_back(&second);
        assert!(heard.has_changed().expect("open"));
        heard.mark_unchanged();
        assert_eq!(ledger.unsettled(), 1);
        ledger.give_back(&first);
        assert_eq!(ledger.unsettled(), 4);
    }
}
