//! Detects transfers that make no progress in either direction.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

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
}
