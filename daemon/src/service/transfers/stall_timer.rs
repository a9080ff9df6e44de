//! Detects transfers that make no progress in either direction.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::shares::{Holder, Shares};

/// A transfer without progress for this time ends if callers wait for its share.
const YIELD_AFTER: Duration = Duration::from_secs(10);
/// Pause between two checks whether callers are waiting.
const YIELD_CHECK: Duration = Duration::from_secs(1);

/// Expires when no bytes were transferred for a time limit.
pub(super) struct StallTimer {
    last: Mutex<Instant>,
    limit: Duration,
}

impl StallTimer {
    pub(super) fn new(limit: Duration) -> Self {
        Self { last: Mutex::new(Instant::now()), limit }
    }

    /// Starts the time limit again. Called after each transferred chunk.
    pub(super) fn restart(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Waits until the limit has passed without a call of [`StallTimer::restart`].
    pub(super) async fn expired(&self) {
        loop {
            let due = *self.last.lock().unwrap_or_else(PoisonError::into_inner) + self.limit;
            if due <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(due).await;
        }
    }

    /// Waits until no bytes were transferred for [`YIELD_AFTER`] while a caller waits that could start if this transfer
    /// of `holder` ended.
    pub(super) async fn blocks_waiting_callers(&self, shares: &Shares, holder: Holder) {
        loop {
            let due = *self.last.lock().unwrap_or_else(PoisonError::into_inner) + YIELD_AFTER;
            let now = Instant::now();
            if due <= now && shares.is_waited_for(holder) {
                return;
            }
            tokio::time::sleep_until(due.max(now + YIELD_CHECK)).await;
        }
    }
}
