//! Tells background tasks whether clients write at the same time, so that the tasks write smaller transactions then.
//!
//! Commits run one after the other. A client that writes beside a large transaction of the daemon waits for its commit,
//! so the size of these transactions decides how long clients wait.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// Counts the transactions that are not of background tasks. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub(super) struct ForegroundWrites(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    in_progress: AtomicUsize,
    begun: AtomicU64,
}

impl ForegroundWrites {
    /// Counts a transaction until the returned value is dropped.
    pub(super) fn begin(&self) -> ForegroundWrite {
        self.0.in_progress.fetch_add(1, Ordering::Relaxed);
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        ForegroundWrite(Arc::clone(&self.0))
    }

    pub(super) fn observer(&self) -> WriteObserver {
        WriteObserver { counts: Arc::clone(&self.0), seen: 0 }
    }
}

/// A transaction that is not of a background task.
pub(super) struct ForegroundWrite(Arc<Counts>);

impl Drop for ForegroundWrite {
    fn drop(&mut self) {
        self.0.in_progress.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Observes the other writes for one background task.
#[derive(Debug)]
pub struct WriteObserver {
    counts: Arc<Counts>,
    /// The number of foreground transactions at the last call.
    seen: u64,
}

impl WriteObserver {
    /// Returns whether a transaction that is not of a background task runs, or has begun since the last call.
    pub fn others_write(&mut self) -> bool {
        let begun = self.counts.begun.load(Ordering::Relaxed);
        let has_begun = std::mem::replace(&mut self.seen, begun) != begun;
        has_begun || self.counts.in_progress.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_count_while_they_run_and_once_afterwards() {
        let writes = ForegroundWrites::default();
        let mut observer = writes.observer();
        assert!(!observer.others_write());
        let running = writes.begin();
        assert!(observer.others_write() && observer.others_write());
        drop(running);
        assert!(!observer.others_write());
        drop(writes.begin());
        assert!(observer.others_write() && !observer.others_write());
    }
}
