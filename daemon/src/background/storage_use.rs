//! Adds up the storage of each owner at intervals: its own task, because it reads all rows in small batches.

use std::error::Error as StdError;

use crate::{
    clock::Millis,
    service::{Context, storage_use},
    wake::Wake,
};

/// Pause before the first run, so that a start is not slowed down.
const FIRST_MS: Millis = 60_000;
/// Shortest pause between two runs.
const PAUSE_MS: Millis = 600_000;
/// The pause is at least this many times as long as the last run.
const PAUSE_FACTOR: Millis = 20;

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let timer = Wake::default();
    let work = async {
        let mut next_ms = context.now_ms().saturating_add(FIRST_MS);
        loop {
            timer.wait(&context.clock, Some(next_ms)).await;
            let began_ms = context.now_ms();
            if let Err(error) = storage_use::refresh(&context).await {
                let error = &error as &dyn StdError;
                tracing::warn!(error, "adding up the storage of owners failed and will be tried again");
            }
            let now_ms = context.now_ms();
            let took_ms = now_ms.saturating_sub(began_ms).max(0);
            next_ms = now_ms.saturating_add(PAUSE_MS.max(took_ms.saturating_mul(PAUSE_FACTOR)));
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}
