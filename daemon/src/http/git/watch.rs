//! Notices that nothing moves any more, in either direction.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// When something last moved.
pub(super) struct Watch {
    last: Mutex<Instant>,
    limit: Duration,
}

impl Watch {
    pub(super) fn new(limit: Duration) -> Self {
        Self { last: Mutex::new(Instant::now()), limit }
    }

    /// Something moved.
    pub(super) fn moved(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns when nothing has moved for the limit.
    pub(super) async fn stalled(&self) {
        loop {
            let due = *self.last.lock().unwrap_or_else(PoisonError::into_inner) + self.limit;
            if due <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(due).await;
        }
    }
}
