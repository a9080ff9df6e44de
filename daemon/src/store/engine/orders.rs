//! The orders of transactions, for engines that one process uses.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Gives orders to transactions and tracks which of these transactions have not ended. Clones share the state.
#[derive(Clone, Debug)]
pub(super) struct Orders(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// All transactions with a smaller order have ended.
    settled: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The next order.
    next: u64,
    open: BTreeSet<u64>,
}

impl Default for Orders {
    /// Creates the orders of a new engine. The first one is 1.
    fn default() -> Self {
        let state = Mutex::new(State { next: 1, open: BTreeSet::new() });
        Self(Arc::new(Shared { settled: AtomicU64::new(1), state }))
    }
}

impl Orders {
    /// Returns the lowest order whose transaction may not have ended. Read it *before* a view is created: the view
    /// contains the writes of all transactions with a smaller order.
    pub(super) fn settled(&self) -> u64 {
        self.0.settled.load(Ordering::SeqCst)
    }

    /// Returns the next order.
    pub(super) fn take(&self) -> Order {
        let mut state = self.0.state();
        let number = state.next;
        state.next += 1;
        state.open.insert(number);
        Order { number, orders: Arc::clone(&self.0) }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The order of a transaction. Drop it when the effect of the transaction is decided, and before its
/// caller gets the result.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) number: u64,
    orders: Arc<Shared>,
}

impl Drop for Order {
    fn drop(&mut self) {
        let mut state = self.orders.state();
        state.open.remove(&self.number);
        let settled = state.open.first().copied().unwrap_or(state.next);
        self.orders.settled.store(settled, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_settled_up_to_the_first_open_one() {
        let orders = Orders::default();
        let (first, second) = (orders.take(), orders.take());
        assert_eq!((first.number, second.number, orders.settled()), (1, 2, 1));
        drop(second);
        assert_eq!(orders.settled(), 1);
        drop(first);
        assert_eq!(orders.settled(), 3);
        assert_eq!(orders.take().number, 3);
        assert_eq!(orders.settled(), 4);
    }
}
