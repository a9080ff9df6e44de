//! The recorder: writes the results of all workers, many in one transaction.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use farrier_proto::store::DeliveryTrigger;
use tokio::sync::mpsc;

use super::{DeliveryContext, worker_handle::WorkerHandle};
use crate::{
    hints::Topic,
    store::{
        StoreError, Tx,
        deliveries::{self, NextStep, Outcome},
        leases::{self, HeldLease},
        retried_work::RetriedWork,
    },
};

/// Maximum number of results in one transaction. Each has a few rows.
const BATCH_MAX: usize = 128;
/// Maximum while clients write as well, so that they wait for little.
const BATCH_MAX_BESIDE_OTHERS: usize = 12;
/// Pause after an error of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(500);

/// The result of a delivery, with the handle of the worker that has claimed it.
pub(super) struct Report {
    pub(super) outcome: Outcome,
    /// The lease under which the attempt was made.
    pub(super) lease: Option<HeldLease>,
    pub(super) handle: Arc<WorkerHandle>,
}

/// Records results until the last worker has ended.
pub(super) async fn run(context: DeliveryContext, mut inbox: mpsc::Receiver<Report>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut observer = context.store.observer();
    loop {
        let limit = if observer.others_write() { BATCH_MAX_BESIDE_OTHERS } else { BATCH_MAX };
        if inbox.recv_many(&mut batch, limit).await == 0 {
            return;
        }
        let lost = write(&context, &batch).await;
        context.backlog.results_recorded();
        for Report { outcome, handle, lease } in batch.drain(..) {
            if lease.is_some_and(|lease| lost.contains(&lease)) {
                // Another node sends the delivery again, with the same UUID.
                handle.release(outcome.delivery);
                continue;
            }
            if let NextStep::Again { at_ms } = outcome.next {
                context.retries.due_at(at_ms);
            }
            if context.history.attempted(outcome.hook) {
                context.sweep.now();
            }
            context.metrics.count_outcome(&outcome);
            handle.release(outcome.delivery);
            context.results.recorded(outcome.delivery);
            if outcome.next_trigger != DeliveryTrigger::Unspecified {
                // A caller may wait for it.
                context.hints.add(Topic::Results);
            }
        }
    }
}

/// Writes a batch, and repeats it after an error. If the failed commit was durable after all, this only counts failures
/// of a hook twice. Returns the leases that this node has lost. The results of their workers are not written.
async fn write(context: &DeliveryContext, batch: &[Report]) -> BTreeSet<HeldLease> {
    let leases: BTreeSet<HeldLease> = batch.iter().filter_map(|report| report.lease).collect();
    let leases: Vec<HeldLease> = leases.into_iter().collect();
    let disable_after_ms = i64::try_from(context.config.webhook.disable_after.as_millis()).unwrap_or(i64::MAX);
    let work = RetriedWork::new("recording deliveries");
    loop {
        let now = context.now_ms();
        let written = context.store.write_in_background(async |tx: Tx| {
            let held = if leases.is_empty() { Vec::new() } else { leases::still_held(&tx, &leases).await? };
            let may_record = |report: &&Report| report.lease.is_none_or(|lease| held.contains(&lease));
            let outcomes: Vec<&Outcome> = batch.iter().filter(may_record).map(|report| &report.outcome).collect();
            let disabled = deliveries::record(&tx, &outcomes, now, disable_after_ms).await?;
            Ok::<_, StoreError>((disabled, held))
        });
        match written.await {
            Ok((disabled, held)) => {
                work.succeeded();
                context.metrics.deliveries.count_disabled_hooks(disabled.len());
                for (hook, reason) in disabled {
                    tracing::warn!(hook, reason, "a hook was switched off");
                }
                return leases.into_iter().filter(|lease| !held.contains(lease)).collect();
            }
            Err(error) => {
                work.failed(&error);
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }
}
