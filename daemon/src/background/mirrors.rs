//! Starts the syncs of mirrors when they are due.

use std::{error::Error as StdError, time::Duration};

use crate::service::{Context, mirrors};

/// Pause after a failure of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(60);

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        loop {
            match mirrors::start_due(&context).await {
                Ok(next) => context.mirrors.wait(&context, next).await,
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn StdError,
                        "mirrors were not started and will be tried again"
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
