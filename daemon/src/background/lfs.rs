//! Looks once a day, and when an administrator requests it, for LFS objects that no file names any more. This is a task
//! of its own, because a search reads whole histories.

use crate::{
    clock::Millis,
    service::{
        Context,
        lfs::{self, Searched},
    },
};

const DAY_MS: Millis = 86_400_000;
/// Pause before the first search, so that a start is not slowed down.
const FIRST_MS: Millis = 3_600_000;

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let mut searched = Searched::default();
    let work = async {
        let mut next_ms = context.now_ms().saturating_add(FIRST_MS);
        loop {
            context.lfs_collection.wake.wait(&context.clock, Some(next_ms)).await;
            let now = context.now_ms();
            let Some(task) = context.lfs_collection.begin(now >= next_ms, now) else { continue };
            lfs::collect(&context, &task, &mut searched).await;
            // A dry run does not replace a search.
            if !task.dry_run {
                next_ms = context.now_ms().saturating_add(DAY_MS);
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}
