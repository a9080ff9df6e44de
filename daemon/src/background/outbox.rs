//! Which hooks have deliveries that nobody has looked at yet.
//!
//! Only a hint that saves the sender from looking through all lines: what is to be sent is what the
//! store says, and a start looks at all of it.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use tokio::sync::Notify;

/// Hooks whose lines have grown, and a signal for when the first of them comes.
#[derive(Debug, Default)]
pub struct Outbox {
    hooks: Mutex<BTreeSet<u64>>,
    signal: Notify,
}

impl Outbox {
    /// Deliveries for these hooks are committed.
    pub fn announce(&self, hooks: &[u64]) {
        if hooks.is_empty() {
            return;
        }
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).extend(hooks);
        self.signal.notify_one();
    }

    /// The hooks that were announced since the last call; waits for the first. For one listener.
    pub async fn announced(&self) -> BTreeSet<u64> {
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
        outbox.announce(&[3]);
        assert_eq!(outbox.announced().await, [1, 3].into());
        let (heard, ()) = tokio::join!(outbox.announced(), async {
            tokio::task::yield_now().await;
            outbox.announce(&[7]);
        });
        assert_eq!(heard, [7].into());
    }
}
