//! Limits how many requests are sent at the same time, so that slow receivers do not delay others.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A request without a response after this time counts as slow.
const SLOW_AFTER: Duration = Duration::from_millis(300);
/// Permits for slow requests per permit for quick ones: a slow request uses a connection but no CPU.
const SLOW_SHARE: usize = 16;

/// Permits for requests. Requests to receivers that fail or are slow have their own permits.
#[derive(Debug)]
pub(super) struct ConcurrencyLimits {
    quick: Arc<Semaphore>,
    slow: Arc<Semaphore>,
}

impl ConcurrencyLimits {
    pub(super) fn new(quick: usize) -> Self {
        let quick = quick.min(Semaphore::MAX_PERMITS / SLOW_SHARE);
        Self { quick: Arc::new(Semaphore::new(quick)), slow: Arc::new(Semaphore::new(quick * SLOW_SHARE)) }
    }

    /// Waits for a permit; `doubtful`: one for receivers that have failed recently.
    pub(super) async fn take(&self, doubtful: bool) -> OwnedSemaphorePermit {
        let kind = if doubtful { &self.slow } else { &self.quick };
        Arc::clone(kind).acquire_owned().await.expect("the semaphores are never closed")
    }

    /// Runs `work` with `permit`. When `work` turns out to be slow, exchanges the permit for a slow one.
    pub(super) async fn run<T>(&self, permit: OwnedSemaphorePermit, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(SLOW_AFTER) => {}
        }
        let permit = Arc::clone(&self.slow).try_acquire_owned().unwrap_or(permit);
        let done = work.await;
        drop(permit);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_request_frees_its_permit_for_others() {
        let limits = ConcurrencyLimits::new(1);
        let permit = limits.take(false).await;
        let slow = limits.run(permit, tokio::time::sleep(Duration::from_secs(5)));
        let other = async {
            drop(limits.take(false).await);
            tokio::time::Instant::now()
        };
        let began = tokio::time::Instant::now();
        let ((), got) = tokio::join!(slow, other);
        assert_eq!(got - began, SLOW_AFTER);
        assert_eq!((limits.quick.available_permits(), limits.slow.available_permits()), (1, SLOW_SHARE));
    }
}
