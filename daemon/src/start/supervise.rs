//! Waits until a daemon stops.

use std::time::Duration;

use super::RunError;
use crate::{
    store::{Store, value},
    tasks::Tasks,
};

/// Waits until the daemon stops. Stops it with an error if another daemon has taken the store, or if a newer one has
/// changed its format.
pub(super) async fn supervise(tasks: Tasks, store: Store, grace: Duration) -> Result<(), RunError> {
    let stop = tasks.stop().clone();
    let supervising = tasks.supervise(grace);
    tokio::pin!(supervising);
    tokio::select! {
        ended = &mut supervising => Ok(ended?),
        owner = store.lost() => {
            stop.cancel();
            // The reason is more important than how the tasks end.
            _ = supervising.await;
            Err(RunError::StoreLost { owner })
        }
        found = store.outdated() => {
            stop.cancel();
            _ = supervising.await;
            Err(RunError::StoreNewer { found, known: value::FORMAT_LEVEL })
        }
    }
}
