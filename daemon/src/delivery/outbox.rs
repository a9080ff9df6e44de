//! Announces hooks with new deliveries to the dispatcher.
//!
//! This is only a hint that saves the dispatcher from scanning all queues. The queues in the store decide what is
//! sent, and the dispatcher scans all of them at the start, and at intervals while other nodes use the store.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::Shards;
use crate::hints::OutgoingHints;

/// Hooks with new deliveries, and a signal for the dispatcher.
#[derive(Debug)]
pub struct Outbox {
    waiting: Mutex<Announced>,
    signal: Notify,
    hints: OutgoingHints,
    shards: Arc<Shards>,
}

/// The announcements since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// Hooks with new deliveries; `true`: one of these is sent even if the hook is failing.
    pub hooks: BTreeMap<u64, bool>,
    /// Whether any hook may have new deliveries.
    pub any: bool,
}

impl Outbox {
    /// Creates an outbox. Hooks of shards that this node does not serve are announced to other nodes with `hints`.
    pub fn new(hints: OutgoingHints, shards: Arc<Shards>) -> Self {
        Self { waiting: Mutex::default(), signal: Notify::new(), hints, shards }
    }

    /// Announces that deliveries for `hooks` are committed.
    pub fn announce(&self, hooks: &[u64]) {
        self.add(hooks.iter().map(|hook| (*hook, false)), true);
    }

    /// Announces a delivery that an operator requested. It is sent at once, even if the hook is failing.
    pub fn announce_urgent(&self, hook: u64) {
        self.add([(hook, true)], true);
    }

    /// Announces hooks that another node has announced.
    pub fn announce_here(&self, hooks: impl IntoIterator<Item = (u64, bool)>) {
        self.add(hooks, false);
    }

    /// Announces that the hooks with new deliveries are not known.
    pub fn announce_any(&self) {
        self.waiting().any = true;
        self.signal.notify_one();
    }

    fn add(&self, hooks: impl IntoIterator<Item = (u64, bool)>, to_others: bool) {
        let mut waiting = self.waiting();
        let mut is_empty = true;
        for (hook, urgent) in hooks {
            *waiting.hooks.entry(hook).or_default() |= urgent;
            is_empty = false;
            if to_others && !self.shards.serves(hook) {
                self.hints.add_hook(hook, urgent);
            }
        }
        drop(waiting);
        if !is_empty {
            self.signal.notify_one();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Announced> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for announcements and takes them. For one listener.
    pub async fn announced(&self) -> Announced {
        loop {
            let waiting = std::mem::take(&mut *self.waiting());
            if waiting != Announced::default() {
                return waiting;
            }
            self.signal.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// An outbox of a node that serves no shards.
    fn outbox(hints: OutgoingHints) -> Outbox {
        Outbox::new(hints, Arc::new(Shards::new(true, &CancellationToken::new())))
    }

    #[tokio::test(start_paused = true)]
    async fn announcements_are_merged_and_returned_once() {
        let outbox = outbox(OutgoingHints::default());
        outbox.announce(&[]);
        outbox.announce(&[3, 1]);
        outbox.announce_urgent(3);
        outbox.announce(&[3]);
        assert_eq!(outbox.announced().await.hooks, [(1, false), (3, true)].into());
        let (announced, ()) = tokio::join!(outbox.announced(), async {
            tokio::task::yield_now().await;
            outbox.announce(&[7]);
        });
        assert_eq!(announced, Announced { hooks: [(7, false)].into(), any: false });
    }

    #[tokio::test]
    async fn other_nodes_receive_only_announcements_of_this_node() {
        let hints = OutgoingHints::new(true);
        let outbox = outbox(hints.clone());
        outbox.announce_here([(1, true)]);
        outbox.announce_any();
        outbox.announce(&[2]);
        assert_eq!(outbox.announced().await, Announced { hooks: [(1, true), (2, false)].into(), any: true });
        assert_eq!(hints.taken().await.hooks, [(2, false)].into());
    }
}
