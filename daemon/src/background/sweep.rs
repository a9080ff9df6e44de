//! The sweep: cancels overdue jobs, expires artifacts and summaries, and removes abandoned uploads, unneeded files, and
//! data whose retention is over.

use std::{error::Error as StdError, time::Duration};

use crate::{
    clock::Millis,
    delivery::retention,
    service::{
        Context, Error, artifacts, audit, caches, ci, events, hooks, lfs, marked_uploads, migrations, repositories,
        set_aside,
    },
    store::nodes,
};

/// Pause after a failure, so that a broken disk does not keep a core busy.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(5);
/// Interval at which work of other nodes is checked. A node that has ended counts as alive for as long.
const OTHERS_EVERY_MS: Millis = nodes::ALIVE_MS;
/// Most jobs that one pass cancels.
const JOBS: usize = 100;

/// The lease under which one node at a time does this work.
const LEASE: &str = "sweep";

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        set_aside::set_aside_orphans(&context).await;
        loop {
            if let Err(error) = Box::pin(sweep_under_lease(&context)).await {
                tracing::error!(error = &error as &dyn StdError, "the sweep failed and will be tried again");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// Takes the lease and does what is due, until the node may have lost the lease.
async fn sweep_under_lease(context: &Context) -> Result<(), Error> {
    let lease = context.node.hold(&context.store, &context.clock, LEASE).await?;
    let passes = async {
        loop {
            let next = pass(context).await?;
            context.sweep.wait(&context.clock, next).await;
        }
    };
    tokio::select! {
        ended = lease.scope(passes) => ended,
        () = context.node.unsure(&context.clock) => Ok(()),
    }
}

/// Does everything that is due. Returns when the next work is due.
async fn pass(context: &Context) -> Result<Option<Millis>, Error> {
    let has_others = migrations::recover(context).await? | marked_uploads::recover(context).await?;
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
    set_aside::sweep(context).await;
    let due = [
        has_others.then(|| context.now_ms().saturating_add(OTHERS_EVERY_MS)),
        ci::next_due_ms(context).await?,
        ci::next_summary_due_ms(context).await?,
        repositories::next_due_ms(context).await?,
        set_aside::next_due_ms(context),
        artifacts::next_due_ms(context).await?,
        caches::next_due_ms(context).await?,
        lfs::next_due_ms(context).await?,
        hooks::next_due_ms(context).await?,
        events::next_due_ms(context).await?,
        audit::next_due_ms(context).await?,
        repositories::sweep_heads(context).await?,
        retention::sweep(context).await?,
    ];
    Ok(due.into_iter().flatten().min())
}
