//! Deletes expired tokens once a day. Expired tokens are refused anyway, so the exact time does not matter.

use std::error::Error as StdError;

use crate::{
    clock::Millis,
    service::{Context, nodes, tokens},
    wake::Wake,
};

const DAY_MS: Millis = 86_400_000;

/// The lease under which one node at a time deletes tokens.
const LEASE: &str = "expired tokens";

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let timer = Wake::default();
    let work = async {
        loop {
            if let Err(error) = nodes::under_lease(&context, LEASE, tokens::delete_expired(&context)).await {
                let error = &error as &dyn StdError;
                tracing::warn!(error, "deleting expired tokens failed and will be tried again in a day");
            }
            timer.wait(&context.clock, Some(context.now_ms() + DAY_MS)).await;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}
