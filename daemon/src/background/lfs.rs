//! Looks once a day, and when an administrator requests it, for LFS objects that no file names any more. This is a task
//! of its own, because a search reads whole histories.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use crate::{
    clock::Millis,
    service::{
        Context, Error,
        lfs::{self, CollectionTask, Searched},
        nodes, shared_tasks,
    },
};

const DAY_MS: Millis = 86_400_000;
/// Pause before the first search, so that a start is not slowed down.
const FIRST_MS: Millis = 3_600_000;

/// Pause before a node that could not begin the daily search tries it again.
const RETRY_MS: Millis = 3_600_000;
/// Pause after a failure of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(60);
/// The lease under which one node at a time searches.
const LEASE: &str = "unused LFS objects";

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let mut searched = Searched::default();
    let work = async {
        let mut next_ms = context.now_ms().saturating_add(FIRST_MS);
        loop {
            context.lfs_collection.wake.wait(&context.clock, nodes::next_check_ms(&context, Some(next_ms))).await;
            let is_due = context.now_ms() >= next_ms;
            let searched = nodes::under_lease(&context, LEASE, Box::pin(search(&context, is_due, &mut searched))).await;
            match searched {
                // A dry run does not replace a search.
                Ok(Some(Some(task))) if task.dry_run => {}
                Ok(Some(Some(_))) => next_ms = context.now_ms().saturating_add(DAY_MS),
                // Another node has the lease, or a search runs already.
                Ok(_) if is_due => next_ms = context.now_ms().saturating_add(RETRY_MS),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn StdError,
                        "the search for unused LFS objects could not begin"
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

/// Does the search that was requested or is due.
async fn search(
    context: &Context,
    is_due: bool,
    searched: &mut Searched,
) -> Result<Option<Arc<CollectionTask>>, Error> {
    let task = if context.store.is_shared() {
        shared_tasks::begin_search(context, is_due).await?
    } else {
        context.lfs_collection.begin(is_due, context.now_ms())
    };
    let Some(task) = task else { return Ok(None) };
    let running = RunningSearch { context, task };
    lfs::collect(context, &running.task, searched).await;
    Ok(Some(running.task.clone()))
}

/// A search that this node does. If it is dropped before the search has ended, the search was interrupted.
struct RunningSearch<'a> {
    context: &'a Context,
    task: Arc<CollectionTask>,
}

impl Drop for RunningSearch<'_> {
    fn drop(&mut self) {
        self.task.record_interruption(self.context.now_ms());
    }
}
