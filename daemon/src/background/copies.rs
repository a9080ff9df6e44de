//! Tidies copies of repositories that follow other nodes, and removes what they do not need any more. Each node does
//! this in its own data directory, so it needs no lease.

use std::{error::Error as StdError, time::Duration};

use crate::{
    copies::Copies,
    service::{Context, pushes},
};

/// Pause before the first search for copies that are not needed, so that a start is not slowed down.
const FIRST: Duration = Duration::from_secs(600);
const DAY: Duration = Duration::from_secs(86_400);

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        tokio::join!(tidy_fetched(&context), context.copies.remove_hidden(), remove_unused(&context.copies));
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
