//! Looks once a day for LFS objects that no file names any more, in a task of its own, because a search reads whole
//! histories.

use std::error::Error as StdError;

use crate::{
    clock::Millis,
    service::{
        Context,
        lfs::{self, Searched},
    },
    wake::Wake,
};

const DAY_MS: Millis = 86_400_000;
/// Pause before the first search, so that a start is not slowed down.
const FIRST_MS: Millis = 3_600_000;

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let (timer, mut searched) = (Wake::default(), Searched::default());
    let work = async {
        let mut pause_ms = FIRST_MS;
        loop {
            timer.wait(&context.clock, Some(context.now_ms().saturating_add(pause_ms))).await;
            pause_ms = DAY_MS;
            if let Err(error) = lfs::collect(&context, &mut searched).await {
                let error = &error as &dyn StdError;
                tracing::warn!(error, "looking for unused LFS objects failed and will be tried again in a day");
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}
