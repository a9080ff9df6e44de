//! Adopts the repositories of an earlier release, and prunes repositories: its own task, because packing a large
//! repository takes minutes.

use std::{error::Error as StdError, time::Duration};

use crate::{
    clock::Millis,
    service::{Context, Error, ref_moves, repositories::prune},
};

/// Pause after a failure of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(60);
/// Pause before repositories that could not be adopted are tried again.
const ADOPTION_PAUSE_MS: Millis = 86_400_000;

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        let mut all_adopted = false;
        loop {
            match step(&context, &mut all_adopted).await {
                Ok(next) => context.pruning.wait(&context.clock, next).await,
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
async fn step(context: &Context, all_adopted: &mut bool) -> Result<Option<Millis>, Error> {
    if !*all_adopted {
        *all_adopted = ref_moves::adopt_all(context).await?;
    }
    let next = prune::prune_due(context).await?;
    let again = (!*all_adopted).then(|| context.now_ms().saturating_add(ADOPTION_PAUSE_MS));
    Ok(next.into_iter().chain(again).min())
}
