//! Removes once a day what writers of killed daemons left in the blob store, such as multipart uploads of a bucket.

use std::{error::Error as StdError, time::Duration};

use crate::{
    clock::Millis,
    service::{Context, Error, nodes},
    wake::Wake,
};

const DAY_MS: Millis = 86_400_000;
/// Age from which an upload counts as left by a killed daemon.
const AGE: Duration = Duration::from_secs(86_400);
/// Pause before the first search, so that a start is not slowed down.
const FIRST_MS: Millis = 600_000;

/// The lease under which one node at a time searches.
const LEASE: &str = "unfinished uploads";

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let timer = Wake::default();
    let work = async {
        let mut pause_ms = FIRST_MS;
        loop {
            timer.wait(&context.clock, Some(context.now_ms().saturating_add(pause_ms))).await;
            pause_ms = DAY_MS;
            match nodes::under_lease(&context, LEASE, remove(&context)).await {
                Ok(None | Some(0)) => {}
                Ok(Some(count)) => tracing::info!(count, "removed unfinished uploads from the bucket"),
                Err(error) => {
                    let error = &error as &dyn StdError;
                    tracing::warn!(error, "removing unfinished uploads failed and will be tried again in a day");
                }
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

async fn remove(context: &Context) -> Result<usize, Error> {
    let removed = context.blobs.remove_unfinished(AGE).await;
    removed.map_err(|source| Error::Blob { doing: "removing unfinished uploads", source })
}
