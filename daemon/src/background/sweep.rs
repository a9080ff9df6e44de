//! The sweep: cancels overdue jobs, expires artifacts and summaries, and removes abandoned uploads, unneeded files, and
//! data whose retention is over.

use std::time::Duration;

use crate::{
    clock::Millis,
    delivery::retention,
    service::{
        Context, Error, artifacts, audit, caches, ci, events, hooks, lfs, marked_uploads, migrations, nodes,
        repositories, set_aside, shared_tasks,
    },
    store::retried_work::RetriedWork,
};

/// Pause after a failure, so that a broken disk does not keep a core busy.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(5);
/// Most jobs that one pass cancels.
const JOBS: usize = 100;

/// The lease under which one node at a time does this work.
const LEASE: &str = "sweep";

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        set_aside::set_aside_orphans(&context).await;
        let log = RetriedWork::new("the sweep");
        loop {
            match Box::pin(pass(&context)).await {
                Ok(next) => {
                    log.succeeded();
                    context.sweep.wait(&context.clock, next).await;
                }
                Err(error) => {
                    log.failed(&error);
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

/// Does everything that is due. Returns when the next work is due.
async fn pass(context: &Context) -> Result<Option<Millis>, Error> {
    let of_node = pass_of_node(context).await?;
    let of_store = nodes::under_lease(context, LEASE, Box::pin(pass_of_store(context))).await?;
    let due = of_node.into_iter().chain(of_store.flatten()).min();
    Ok(nodes::next_check_ms(context, due))
}

/// Does what is due on this node: work on its disk, and on what it has counted in memory.
async fn pass_of_node(context: &Context) -> Result<Option<Millis>, Error> {
    caches::write_uses(context).await?;
    set_aside::sweep(context).await;
    let due =
        [caches::next_uses_ms(context), set_aside::next_due_ms(context), retention::sweep(&context.delivery).await?];
    Ok(due.into_iter().flatten().min())
}

/// Does what is due in the store and in the blob store, which one node at a time does.
async fn pass_of_store(context: &Context) -> Result<Option<Millis>, Error> {
    // Other nodes may have begun what they find. It is checked again with the next poll.
    migrations::recover(context).await?;
    shared_tasks::recover(context).await?;
    marked_uploads::recover(context).await?;
    while ci::cancel_overdue(context, JOBS).await? == JOBS {}
    while repositories::sweep(context).await? {}
    // Before artifacts, which also removes the bytes of deleted cache entries and LFS objects.
    while caches::sweep(context).await? {}
    while lfs::sweep(context).await? {}
    while artifacts::sweep(context).await? {}
    while ci::sweep_summaries(context).await? {}
    while hooks::sweep(context).await? {}
    while events::sweep(context).await? {}
    while audit::sweep(context).await? {}
    let due = [
        ci::next_due_ms(context).await?,
        ci::next_summary_due_ms(context).await?,
        repositories::next_due_ms(context).await?,
        artifacts::next_due_ms(context).await?,
        caches::next_due_ms(context).await?,
        lfs::next_due_ms(context).await?,
        hooks::next_due_ms(context).await?,
        events::next_due_ms(context).await?,
        audit::next_due_ms(context).await?,
        repositories::sweep_heads(context).await?,
    ];
    Ok(due.into_iter().flatten().min())
}
