//! Stores packs of an earlier release in the bucket, and removes objects of packs that no row names.

use std::{collections::BTreeSet, error::Error as StdError, time::Duration};

use crate::{
    clock::Millis,
    service::{
        Context, Error,
        bucket_packs::{self, Swept},
        nodes,
    },
    wake::Wake,
};

const DAY_MS: Millis = 86_400_000;
/// Pause before the first sweep, so that a start is not slowed down.
const FIRST_MS: Millis = 600_000;
/// Pause before packs that could not be stored are tried again.
const PAUSE: Duration = Duration::from_secs(60);

/// The lease under which one node at a time removes objects.
const LEASE: &str = "packs in the bucket";

/// Runs until the daemon stops. Packs are in a bucket.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        tokio::join!(fill(&context), sweep(&context));
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// Stores packs until the bucket has all. Then other daemons can use the store. Every node does, because only some
/// disks have the packs.
async fn fill(context: &Context) {
    let mut left = BTreeSet::new();
    loop {
        let filled = async {
            let left = bucket_packs::fill(context, &left).await?;
            if left.is_empty() {
                context.store.share().await?;
            }
            Ok::<_, Error>(left)
        };
        match filled.await {
            Ok(now_left) if now_left.is_empty() => return,
            Ok(now_left) => left = now_left,
            Err(error) => {
                let error = &error as &dyn StdError;
                tracing::warn!(error, "packs could not be stored in the bucket and will be tried again");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Removes objects once a day, and after a while if a backup runs.
async fn sweep(context: &Context) {
    let timer = Wake::default();
    let mut pause_ms = FIRST_MS;
    loop {
        timer.wait(&context.clock, Some(context.now_ms().saturating_add(pause_ms))).await;
        pause_ms = DAY_MS;
        match nodes::under_lease(context, LEASE, bucket_packs::sweep(context)).await {
            Ok(None) => {}
            Ok(Some(Swept { packs, is_held })) => {
                if is_held {
                    pause_ms = FIRST_MS;
                }
                if packs > 0 {
                    tracing::info!(packs, "removed packs from the bucket");
                }
            }
            Err(error) => {
                let error = &error as &dyn StdError;
                tracing::warn!(error, "removing packs from the bucket failed and will be tried again in a day");
            }
        }
    }
}
