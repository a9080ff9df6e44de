//! When a call is made again.

use std::time::Duration;

use farrier_common::client::ClientError;

/// Waits between tries: twenty seconds in all, long enough for a daemon to be restarted.
const DELAYS: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(6),
    Duration::from_secs(10),
];

/// The wait before the next try, after that many failures in a row; `None`: give up.
pub(crate) fn delay(failures: usize) -> Option<Duration> {
    DELAYS.get(failures.checked_sub(1)?).copied()
}

/// For calls in the middle of something: the daemon was there, and will be again.
pub(crate) fn passing(error: &ClientError) -> bool {
    error.is_transient()
}

/// For the first call: a daemon that is not there is worth a message at once.
pub(crate) fn once_reached(error: &ClientError) -> bool {
    error.is_transient() && !matches!(error, ClientError::Unreachable { .. })
}

/// Makes a call until it works, fails in a way that is not `worth` another try, or has failed too
/// often. Only for calls that may be made twice.
pub(crate) async fn retrying<T>(
    worth: fn(&ClientError) -> bool,
    call: impl AsyncFn() -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    let mut failures = 0;
    loop {
        let error = match call().await {
            Err(error) if worth(&error) => error,
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
    fn waits_grow_and_end() {
        let waits: Vec<_> = (1..).map_while(delay).collect();
        assert_eq!(waits, DELAYS);
        assert!(waits.is_sorted());
        assert_eq!(delay(0), None);
    }

    #[tokio::test]
    async fn what_does_not_pass_is_not_tried_again() {
        let calls = std::cell::Cell::new(0);
        let result: Result<(), _> = retrying(passing, async || {
            calls.set(calls.get() + 1);
            if calls.get() == 1 {
                Err(ClientError::Silent { seconds: 1 })
            } else {
                Err(ClientError::Answer { what: "odd" })
            }
        })
        .await;
        assert!(matches!(result, Err(ClientError::Answer { .. })));
        assert_eq!(calls.get(), 2);
    }
}
