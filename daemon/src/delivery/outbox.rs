//! Announces hooks with new deliveries to the dispatcher.
//!
//! This is only a hint that saves the dispatcher from scanning all queues. The queues in the store decide what is
//! sent, and the dispatcher scans all of them at the start.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use tokio::sync::Notify;

/// Hooks with new deliveries, and a signal for the dispatcher.
#[derive(Debug, Default)]
pub struct Outbox {
    /// For each hook, whether the announcement is urgent.
    hooks: Mutex<BTreeMap<u64, bool>>,
    signal: Notify,
}

impl Outbox {
    /// Announces that deliveries for `hooks` are committed.
    pub fn announce(&self, hooks: &[u64]) {
        self.add(hooks, false);
    }

    /// Announces a delivery that an operator requested. It is sent at once, even if the hook is failing.
    pub fn announce_urgent(&self, hook: u64) {
        self.add(&[hook], true);
    }

    fn add(&self, hooks: &[u64], urgent: bool) {
        if hooks.is_empty() {
            return;
        }
        let mut waiting = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        for hook in hooks {
            *waiting.entry(*hook).or_default() |= urgent;
        }
        drop(waiting);
        self.signal.notify_one();
    }

    /// Waits for announcements and takes them: each hook with whether it is urgent. For one listener.
    pub async fn announced(&self) -> BTreeMap<u64, bool> {
        loop {
            let waiting = std::mem::take(&mut *self.hooks.lock().unwrap_or_else(PoisonError::into_inner));
            if !waiting.is_empty() {
                return waiting;
            }
            self.signal.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn announcements_are_merged_and_returned_once() {
        let outbox = Outbox::default();
        outbox.announce(&[]);
        outbox.announce(&[3, 1]);
        outbox.announce_urgent(3);
        outbox.announce(&[3]);
        assert_eq!(outbox.announced().await, [(1, false), (3, true)].into());
        let (announced, ()) = tokio::join!(outbox.announced(), async {
            tokio::task::yield_now().await;
            outbox.announce(&[7]);
        });
        assert_eq!(announced, [(7, false)].into());
    }
}
