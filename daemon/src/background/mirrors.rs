//! Starts the syncs of mirrors when they are due. One node at a time does.

use std::{error::Error as StdError, time::Duration};

use crate::service::{Context, mirrors, nodes};

/// Pause after a failure of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(60);

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        loop {
            match nodes::under_lease(&context, mirrors::LEASE, mirrors::start_due(&context)).await {
                Ok(started) => {
                    let next = nodes::next_check_ms(&context, started.flatten());
                    context.mirrors.wait(&context, next).await;
                }
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
