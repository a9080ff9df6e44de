//! Writes the deliveries of events in steps, on one node at a time.

use std::time::Duration;

use crate::{
    delivery::fan_out,
    service::{Context, Error, nodes},
    store::retried_work::RetriedWork,
};

/// The lease under which one node at a time does this work.
const LEASE: &str = "fan-out";
/// Shortest pause between two attempts to take the lease, and after an error.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest pause between two attempts to take the lease.
const POLL: Duration = Duration::from_secs(5);

/// Runs until the daemon stops.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    let work = async {
        let log = RetriedWork::new("a fan-out");
        loop {
            let steps = async {
                fan_out::run(&context.delivery).await;
                Ok(())
            };
            let done = nodes::under_lease(&context, LEASE, steps).await;
            // Another node makes the steps. The numbers with which this one decides would otherwise only grow.
            let counted = fan_out::count_if_full(&context.delivery).await;
            match done.and(counted.map_err(Error::from)) {
                Ok(()) => log.succeeded(),
                Err(error) => log.failed(&error),
            }
            tokio::time::sleep(PAUSE).await;
            _ = tokio::time::timeout(POLL, context.backlog.wait()).await;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}
