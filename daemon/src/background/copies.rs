//! Tidies copies of repositories that follow other nodes, and removes what they do not need any more. Each node does
//! this in its own data directory, so it needs no lease.

use std::{error::Error as StdError, time::Duration};

use crate::{
    copies::Copies,
    service::{Context, Error, disk_space, pushes},
};

/// Pause before the first search for copies that are not needed, so that a start is not slowed down.
const FIRST: Duration = Duration::from_secs(600);
/// The default of `git.copies_max_bytes`, as a part of the disk.
const COPIES_PERCENT: u64 = 80;
const DAY: Duration = Duration::from_secs(86_400);

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        tokio::join!(
            tidy_fetched(&context),
            context.copies.remove_hidden(),
            remove_unused(&context.copies),
            reduce(&context)
        );
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// Tidies copies that have got packs, as each push does on the node that receives it.
async fn tidy_fetched(context: &Context) {
    loop {
        for repository in context.copies.fetched().await {
            pushes::tidy(context, repository).await;
        }
    }
}

/// Keeps the copies below `git.copies_max_bytes`.
async fn reduce(context: &Context) {
    loop {
        context.copies.wait_until_exceeded().await;
        if let Err(error) = reduce_once(context).await {
            let error = &error as &dyn StdError;
            tracing::warn!(error, "removing copies of repositories failed and will be tried again in a minute");
        }
    }
}

async fn reduce_once(context: &Context) -> Result<(), Error> {
    let max_bytes = match context.config.git.copies_max_bytes {
        Some(max_bytes) => max_bytes,
        None => disk_space::of_data_dir(context).await?.total_bytes / 100 * COPIES_PERCENT,
    };
    Ok(context.copies.reduce(max_bytes).await?)
}

async fn remove_unused(copies: &Copies) {
    let mut pause = FIRST;
    loop {
        tokio::time::sleep(pause).await;
        pause = DAY;
        if let Err(error) = copies.remove_unused().await {
            let error = &error as &dyn StdError;
            tracing::warn!(error, "removing unused copies of repositories failed and will be tried again in a day");
        }
    }
}
