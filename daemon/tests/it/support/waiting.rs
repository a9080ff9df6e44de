//! Waiting for a condition with a time limit.

use std::time::Duration;

use super::WAIT_LIMIT;

/// Waits for `work`, at most [`WAIT_LIMIT`].
pub async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(WAIT_LIMIT, work).await.unwrap_or_else(|_| panic!("timed out waiting until {what}"))
}

/// Polls `ready` until it returns true. Panics with `what` after [`WAIT_LIMIT`].
pub async fn eventually<F: Future<Output = bool>>(what: &str, mut ready: impl FnMut() -> F) {
    let deadline = tokio::time::Instant::now() + WAIT_LIMIT;
    while !ready().await {
        assert!(tokio::time::Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
