//! Finds out whether a transaction was committed, if the outcome of its commit was unknown.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::{
    service::Error,
    store::{Store, StoreError, refs::changes},
};

/// Longest time to wait for the store. The lock of the repository is held meanwhile, so no other push starts from an
/// unknown state.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Longest time to wait for the store without the lock.
const WAIT_LATER_MAX: Duration = Duration::from_secs(600);
/// Pause before the store is asked again. Doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Returns whether the transaction may have been committed.
pub(super) fn is_unknown(error: &Error) -> bool {
    matches!(error, Error::Store { source: StoreError::Unknown(_), .. })
}

/// Returns the version that the change with the number `change` made after the version `since`. `None`: there is no
/// such change, or the store did not answer in time. So `None` does not prove that nothing was committed.
pub(super) async fn find(
    store: &Store,
    stop: &CancellationToken,
    repository: u64,
    change: u64,
    since: u64,
) -> Option<u64> {
    find_within(WAIT_MAX, store, stop, repository, (change, since)).await
}

/// Like [`find`], for work that does not hold the lock of the repository and can wait longer.
pub(super) async fn find_later(
    store: &Store,
    stop: &CancellationToken,
    repository: u64,
    change: u64,
    since: u64,
) -> Option<u64> {
    find_within(WAIT_LATER_MAX, store, stop, repository, (change, since)).await
}

async fn find_within(
    wait_max: Duration,
    store: &Store,
    stop: &CancellationToken,
    repository: u64,
    (change, since): (u64, u64),
) -> Option<u64> {
    let looking = async {
        let mut pause = PAUSE_MIN;
        loop {
            match look(store, repository, change, since).await {
                Ok(found) => return found,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(repository, error, "the outcome of a ref move is not known yet");
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    };
    tokio::select! {
        found = tokio::time::timeout(wait_max, looking) => found.ok().flatten(),
        () = stop.cancelled() => None,
    }
}

async fn look(store: &Store, repository: u64, change: u64, since: u64) -> Result<Option<u64>, StoreError> {
    changes::find(&store.read().await?, repository, change, since).await
}
