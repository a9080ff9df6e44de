//! Prunes repositories: its own task, because packing a large repository takes minutes.

use std::{error::Error as StdError, time::Duration};

use crate::service::{Context, repositories::prune};

/// Pause after a failure of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(60);

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        loop {
            match prune::prune_due(&context).await {
                Ok(next) => context.pruning.wait(&context.clock, next).await,
                Err(error) => {
                    tracing::error!(error = &error as &dyn StdError, "pruning failed and will be tried again");
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
