//! Writes the bundles of repositories that are cloned often, and drops those that must not be served any more.

use std::{error::Error as StdError, time::Duration};

use crate::service::{Context, bundles};

/// Pause after a failure of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(60);
/// Pause after a run, because every change through the API wakes the task.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let mut changes = context.access_changes.subscribe();
    let work = async {
        let prepared = context.git.bundles().clone();
        loop {
            match bundles::update(&context).await {
                Ok(next) => {
                    tokio::select! {
                        () = prepared.wake.wait(&context.clock, next) => {}
                        // Such as a repository that was made private. The sender is in the context.
                        _ = changes.changed(), if next.is_some() => {}
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn StdError,
                        "bundles could not be updated; the daemon tries again"
                    );
                    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                }
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}
