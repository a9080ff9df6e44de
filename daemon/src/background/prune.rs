//! Adopts the repositories of an earlier release, and prunes repositories: its own task, because packing a large
//! repository takes minutes. One node at a time prunes. Adoption needs the directory that the earlier release wrote, so
//! every node tries it.

use std::{error::Error as StdError, time::Duration};

use crate::{
    clock::Millis,
    service::{Context, Error, nodes, ref_moves, repositories::prune},
};

/// Pause after a failure of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(60);
/// Pause before repositories that could not be adopted are tried again.
const ADOPTION_PAUSE_MS: Millis = 86_400_000;

/// The lease under which one node at a time prunes.
const LEASE: &str = "prune";

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        // When repositories are adopted. `None`: all are.
        let mut adopt_ms = Some(context.now_ms());
        loop {
            match step(&context, &mut adopt_ms).await {
                Ok(next) => {
                    context.pruning.wait(&context.clock, next).await;
                    // A signal, such as the end of a backup, can mean that more repositories can be adopted.
                    let now = context.now_ms();
                    adopt_ms = adopt_ms.map(|due_ms| if next.is_some_and(|next| now < next) { now } else { due_ms });
                }
                Err(error) => {
                    tracing::error!(error = &error as &dyn StdError, "pruning failed and will be tried again");
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

/// Adopts and prunes what is due. Returns when to check again; `None`: nothing will be due.
async fn step(context: &Context, adopt_ms: &mut Option<Millis>) -> Result<Option<Millis>, Error> {
    if adopt_ms.is_some_and(|due_ms| due_ms <= context.now_ms()) {
        let all_adopted = ref_moves::adopt_all(context).await?;
        *adopt_ms = (!all_adopted).then(|| context.now_ms().saturating_add(ADOPTION_PAUSE_MS));
    }
    let next = if context.config.git.prune_after_days == 0 {
        // Takes no lease, so that a node with another configuration can prune.
        None
    } else {
        match nodes::under_lease(context, LEASE, Box::pin(prune::prune_due(context))).await? {
            Some(next) => next,
            None => nodes::next_check_ms(context, None),
        }
    };
    Ok(next.into_iter().chain(*adopt_ms).min())
}
