//! Decides when requests are repeated.

use std::time::Duration;

use farrier_common::client::ClientError;

/// Pauses between attempts, 20 seconds in total: enough for a restart of the daemon.
const DELAYS: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(6),
    Duration::from_secs(10),
];

/// Returns the pause after `failures` failures in a row; `None`: give up.
pub(crate) fn delay(failures: usize) -> Option<Duration> {
    DELAYS.get(failures.checked_sub(1)?).copied()
}

/// Returns whether a request during an operation is retried. The daemon was reachable, so every temporary error is.
pub(crate) fn is_temporary(error: &ClientError) -> bool {
    error.is_transient()
}

/// Returns whether the first request is retried. It fails immediately if the daemon is not reachable.
pub(crate) fn is_temporary_after_connect(error: &ClientError) -> bool {
    error.is_transient() && !matches!(error, ClientError::Unreachable { .. })
}

/// Repeats a request until it succeeds, fails with an error for which `is_retryable` returns false, or has failed too
/// often. Only for requests that can be repeated safely.
pub(crate) async fn retrying<T>(
    is_retryable: fn(&ClientError) -> bool,
    call: impl AsyncFn() -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    let mut failures = 0;
    loop {
        let error = match call().await {
            Err(error) if is_retryable(&error) => error,
            result => return result,
        };
        failures += 1;
        match delay(failures) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_delays_increase_and_are_limited() {
        let waits: Vec<_> = (1..).map_while(delay).collect();
        assert_eq!(waits, DELAYS);
        assert!(waits.is_sorted());
        assert_eq!(delay(0), None);
    }

    #[tokio::test]
    async fn permanent_errors_are_not_retried() {
        let calls = std::cell::Cell::new(0);
        let result: Result<(), _> = retrying(is_temporary, async || {
            calls.set(calls.get() + 1);
            if calls.get() == 1 {
                Err(ClientError::Silent { seconds: 1 })
            } else {
                Err(ClientError::Answer { what: "it is invalid" })
            }
        })
        .await;
        assert!(matches!(result, Err(ClientError::Answer { .. })));
        assert_eq!(calls.get(), 2);
    }
}
