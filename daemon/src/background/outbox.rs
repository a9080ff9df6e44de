//! Which hooks have deliveries that nobody has looked at yet.
//!
//! Only a hint that saves the sender from looking through all lines: what is to be sent is what the
//! store says, and a start looks at all of it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use tokio::sync::Notify;

/// Hooks whose lines have grown, and a signal for when the first of them comes.
#[derive(Debug, Default)]
pub struct Outbox {
    /// With each whether somebody waits for it.
    hooks: Mutex<BTreeMap<u64, bool>>,
    signal: Notify,
}

impl Outbox {
    /// Deliveries for these hooks are committed.
    pub fn announce(&self, hooks: &[u64]) {
        self.add(hooks, false);
    }

    /// A delivery that somebody asked for is committed: it goes out also to a hook that is only probed.
    pub fn urge(&self, hook: u64) {
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

    /// The hooks that were announced since the last call, and whether each is urgent; waits for the
    /// first. For one listener.
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
    async fn what_was_announced_is_heard_once_and_together() {
        let outbox = Outbox::default();
        outbox.announce(&[]);
        outbox.announce(&[3, 1]);
        outbox.urge(3);
        outbox.announce(&[3]);
        assert_eq!(outbox.announced().await, [(1, false), (3, true)].into());
        let (heard, ()) = tokio::join!(outbox.announced(), async {
            tokio::task::yield_now().await;
            outbox.announce(&[7]);
        });
        assert_eq!(heard, [(7, false)].into());
    }
}
