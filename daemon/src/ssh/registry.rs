//! The open connections of SSH and their limits.
//!
//! Connections that have not signed in have limits of their own. A connection over this limit or the limit of all
//! connections closes the oldest one of the address with the most of them, so silent connections keep nobody out.
//! Connections that have signed in are limited for each account as well (`service::work`).

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

use crate::shares::Holder;

/// Part of the connections without sign-in that one address may have.
const PER_ADDRESS: (usize, usize) = (3, 4);

/// All open connections.
pub(super) struct Registry {
    open_max: usize,
    unauthenticated_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// Connections without sign-in, from the oldest to the newest.
    unauthenticated: BTreeMap<u64, (Holder, CancellationToken)>,
    signed_in: HashSet<u64>,
}

/// An open connection. Dropping it removes the connection from the registry.
pub(super) struct Registered {
    registry: Arc<Registry>,
    id: u64,
}

impl Registry {
    pub(super) fn new(open_max: usize, unauthenticated_max: usize) -> Arc<Self> {
        Arc::new(Self { open_max, unauthenticated_max, state: Mutex::default() })
    }

    /// Registers a connection from `address`, which `kill` closes. `None`: there are too many connections.
    pub(super) fn register(self: &Arc<Self>, address: Holder, kill: &CancellationToken) -> Option<Registered> {
        let mut state = self.state();
        if let Some(oldest) = self.excess(&state, address)
            && let Some((_, kill)) = state.unauthenticated.remove(&oldest)
        {
            kill.cancel();
        }
        if state.unauthenticated.len() + state.signed_in.len() >= self.open_max {
            return None;
        }
        let id = state.next;
        state.next += 1;
        state.unauthenticated.insert(id, (address, kill.clone()));
        drop(state);
        Some(Registered { registry: self.clone(), id })
    }

    /// Returns the connection that must be closed before another one from `address` is accepted.
    fn excess(&self, state: &State, address: Holder) -> Option<u64> {
        let mut numbers: HashMap<Holder, usize> = HashMap::new();
        for (holder, _) in state.unauthenticated.values() {
            *numbers.entry(*holder).or_default() += 1;
        }
        let per_address = (self.unauthenticated_max * PER_ADDRESS.0 / PER_ADDRESS.1).max(1);
        let is_full = state.unauthenticated.len() >= self.unauthenticated_max
            || state.unauthenticated.len() + state.signed_in.len() >= self.open_max;
        let busiest = if numbers.get(&address).is_some_and(|number| *number >= per_address) {
            address
        } else if is_full {
            *numbers.iter().max_by_key(|(_, number)| **number)?.0
        } else {
            return None;
        };
        state.unauthenticated.iter().find(|(_, (holder, _))| *holder == busiest).map(|(id, _)| *id)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registered {
    /// Notes that the client has signed in.
    pub(super) fn signed_in(&self) {
        let mut state = self.registry.state();
        // A connection that was closed for another one is not counted any more.
        if state.unauthenticated.remove(&self.id).is_some() {
            state.signed_in.insert(self.id);
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut state = self.registry.state();
        state.unauthenticated.remove(&self.id);
        state.signed_in.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> Holder {
        Holder::address(Some([10, 0, 0, last].into()))
    }

    #[test]
    fn the_oldest_silent_connection_of_the_busiest_address_makes_room() {
        let registry = Registry::new(100, 4);
        let open = |address| {
            let kill = CancellationToken::new();
            (registry.register(address, &kill).expect("room"), kill)
        };
        let (single, busy) = (open(from(1)), [open(from(2)), open(from(2)), open(from(2))]);
        let _newest = open(from(3));
        assert!(busy[0].1.is_cancelled(), "the oldest of the busiest address");
        assert!(!single.1.is_cancelled() && !busy[1].1.is_cancelled());
        single.0.signed_in();
        let _other = open(from(3));
        assert!(!single.1.is_cancelled() && !busy[1].1.is_cancelled(), "those that have signed in do not count");
    }

    #[test]
    fn one_address_may_have_three_quarters() {
        let registry = Registry::new(100, 4);
        let open = || {
            let kill = CancellationToken::new();
            (registry.register(from(1), &kill).expect("room"), kill)
        };
        let opened: Vec<_> = (0..4).map(|_| open()).collect();
        assert_eq!(opened.iter().map(|(_, kill)| kill.is_cancelled()).collect::<Vec<_>>(), [true, false, false, false]);
    }

    #[test]
    fn the_total_is_limited() {
        let registry = Registry::new(1, 4);
        let kill = CancellationToken::new();
        let first = registry.register(from(1), &kill).expect("room");
        first.signed_in();
        assert!(registry.register(from(1), &kill).is_none());
        drop(first);
        assert!(registry.register(from(1), &kill).is_some());
    }

    #[test]
    fn a_silent_connection_makes_room_when_all_connections_are_in_use() {
        let registry = Registry::new(3, 4);
        let open = |address| {
            let kill = CancellationToken::new();
            registry.register(address, &kill).map(|registered| (registered, kill))
        };
        let signed_in = [open(from(1)).expect("room"), open(from(1)).expect("room")];
        for (registered, _) in &signed_in {
            registered.signed_in();
        }
        let silent = open(from(2)).expect("room");
        let newest = open(from(3)).expect("the silent connection makes room");
        assert!(silent.1.is_cancelled() && !newest.1.is_cancelled());
        // It signs in at the same moment.
        silent.0.signed_in();
        newest.0.signed_in();
        assert!(open(from(4)).is_none(), "no silent connection is left");
        drop(silent);
        assert!(open(from(4)).is_none(), "it was not counted");
        drop(newest);
        assert!(open(from(4)).is_some());
    }
}
