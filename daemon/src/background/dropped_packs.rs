//! Removes the files of packs that tidying and pruning have replaced: its own task, because it takes the locks of
//! repositories, which pruning may hold for minutes.

use std::{error::Error as StdError, time::Duration};

use crate::service::{Context, tidying};

/// Pause after a failure of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(60);

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        loop {
            match tidying::remove_due(&context).await {
                Ok(next) => context.tidying.removals.wait(&context.clock, next).await,
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn StdError,
                        "removing replaced packs failed and will be tried again"
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
