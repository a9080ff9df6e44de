//! Recovers a hook: queues its failed deliveries again and, on request, tries those that wait for a retry.

use farrier_proto::store::{Delivery, DeliveryState, DeliveryTrigger};

use super::{
    history::{DeliveryScope, require_active_hook},
    search_share,
};
use crate::{
    clock::Millis,
    model::hook_health,
    service::{
        Context, Error,
        audit::{Action, AuditRecorder, Entry, Object},
    },
    shares::Holder,
    store::{Read, Tx, deliveries, engine::Key, hooks},
};

/// Maximum number of deliveries that one transaction queues.
const BATCH: usize = 200;
/// Maximum number of waiting deliveries of one recovery. The next call continues with the others.
const WAITING_MAX: usize = 20_000;

/// Selects the deliveries of a recovery.
#[derive(Clone, Copy, Debug)]
pub struct RecoverySelection {
    /// Only deliveries that were created at or after this time.
    pub since_ms: Millis,
    /// Whether deliveries that wait because of failures are tried, too: those with a retry later, and the queue of a
    /// hook that is probed.
    pub waiting: bool,
}

/// Numbers of deliveries of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryCounts {
    /// Failed and cancelled deliveries, which are sent again.
    pub redelivered: u64,
    /// Pending deliveries that no longer wait for the time of their retry or for the next probe of the hook.
    pub retried: u64,
}

/// The pending deliveries of a hook that wait because of failures.
#[derive(Debug, Default)]
struct WaitingDeliveries {
    /// Retries: their keys and deliveries.
    retries: Vec<(Key, u64)>,
    /// Number of deliveries in the queue that wait for the next probe of the hook.
    queued: u64,
}

/// Queues the selected deliveries of a hook. Returns their numbers. The search counts to `holder`.
///
/// Each step has a share of its own, because all of them can take many seconds. If a step gets none, the deliveries of
/// the earlier steps stay queued, and the next call continues with the others.
///
/// All of them keep their UUID and go to their place in the queue. If the hook waits for its next probe, the first
/// delivery of the queue is requested, so that it is sent at once; when it succeeds, the others follow.
pub async fn recover(
    context: &Context,
    holder: Holder,
    scope: DeliveryScope,
    selection: RecoverySelection,
) -> Result<RecoveryCounts, Error> {
    let hook = hook_of(scope)?;
    require_active_hook(&context.store.read().await?, hook).await?;
    // Found first: a delivery that fails during the recovery is not tried a second time.
    let waiting = if selection.waiting {
        let _share = search_share(context, holder).await?;
        find_waiting(context, &context.store.read().await?, hook, selection.since_ms).await?
    } else {
        WaitingDeliveries::default()
    };
    let redelivered = redeliver_failed(context, holder, hook, selection.since_ms).await?;
    let mut counts = RecoveryCounts { redelivered, retried: waiting.queued };
    for retries in waiting.retries.chunks(BATCH) {
        let _share = search_share(context, holder).await?;
        counts.retried += retry_some(context, hook, retries).await?;
        context.outbox.announce_urgent(hook);
    }
    if selection.waiting && counts != RecoveryCounts::default() {
        request_probe(context, hook).await?;
        context.outbox.announce_urgent(hook);
    }
    Ok(counts)
}

/// Counts the deliveries that [`recover`] would queue. The search counts to `holder`.
pub async fn recoverable(
    context: &Context,
    holder: Holder,
    scope: DeliveryScope,
    selection: RecoverySelection,
) -> Result<RecoveryCounts, Error> {
    let hook = hook_of(scope)?;
    let _share = search_share(context, holder).await?;
    let read = &context.store.read().await?;
    require_active_hook(read, hook).await?;
    let mut counts = RecoveryCounts::default();
    if selection.waiting {
        let waiting = find_waiting(context, read, hook, selection.since_ms).await?;
        counts.retried = waiting.queued + waiting.retries.len() as u64;
    }
    let mut before = 0;
    loop {
        // Each step starts after the last index entry of the previous step, so the loop ends.
        let (rows, next) = deliveries::failures(read, hook, before, BATCH).await?;
        counts.redelivered += rows.iter().filter(|row| is_redelivered(row, selection.since_ms)).count() as u64;
        let past_since = rows.last().is_some_and(|row| deliveries::all_before(row, selection.since_ms));
        match next.filter(|_| !past_since) {
            Some(next) => before = next,
            None => return Ok(counts),
        }
    }
}

fn hook_of(scope: DeliveryScope) -> Result<u64, Error> {
    match scope {
        DeliveryScope::Hook(hook) => Ok(hook),
        DeliveryScope::All => Err(Error::NotFound { what: "the hook" }),
    }
}

/// Finds the deliveries of a hook that wait because of failures and were created since `since_ms`.
async fn find_waiting(
    context: &Context,
    read: &impl Read,
    hook: u64,
    since_ms: Millis,
) -> Result<WaitingDeliveries, Error> {
    let mut waiting = WaitingDeliveries::default();
    for retries in deliveries::retries_of(read, hook, WAITING_MAX).await?.chunks(BATCH) {
        let ids: Vec<u64> = retries.iter().map(|(_, id)| *id).collect();
        let rows = deliveries::many(read, &ids).await?;
        let kept =
            retries.iter().zip(&rows).filter(|(_, row)| row.as_ref().is_some_and(|row| row.created_ms >= since_ms));
        waiting.retries.extend(kept.map(|(retry, _)| retry.clone()));
    }
    if is_resting(context, read, hook).await? {
        for ids in deliveries::waiting(read, hook, 0, WAITING_MAX).await?.chunks(BATCH) {
            let rows = deliveries::many(read, ids).await?;
            waiting.queued += rows.iter().flatten().filter(|row| row.created_ms >= since_ms).count() as u64;
        }
    }
    Ok(waiting)
}

/// Returns whether the queue of a hook waits for its next probe.
async fn is_resting(context: &Context, read: &impl Read, hook: u64) -> Result<bool, Error> {
    let state = hooks::state(read, hook).await?;
    Ok(hook_health::probed_at(&state).is_some_and(|at_ms| at_ms > context.now_ms()))
}

/// Returns whether a recovery sends this failed delivery again.
fn is_redelivered(row: &Delivery, since_ms: Millis) -> bool {
    row.created_ms >= since_ms && row.state() != DeliveryState::Pending
}

/// Queues the failed deliveries of a hook, step by step. Returns their number.
async fn redeliver_failed(context: &Context, holder: Holder, hook: u64, since_ms: Millis) -> Result<u64, Error> {
    let (mut before, mut count) = (0, 0);
    loop {
        let _share = search_share(context, holder).await?;
        let recorder = &AuditRecorder::new(context);
        let step = async |tx: Tx| {
            let (count, next) = redeliver_some(&tx, hook, before, since_ms).await?;
            record(&tx, recorder, hook, "deliveries", count).await?;
            Ok::<_, Error>((count, next))
        };
        let (queued, last) = context.store.write(step).await?;
        count += queued;
        if count > 0 {
            context.outbox.announce_urgent(hook);
        }
        match last {
            Some(last) => before = last,
            None => return Ok(count),
        }
    }
}

/// Queues the next failed deliveries before `before`. Returns their number, and the id from which the next step
/// continues. The loop over it ends, because each step starts after the last index entry of the previous step.
async fn redeliver_some(tx: &Tx, hook: u64, before: u64, since_ms: Millis) -> Result<(u64, Option<u64>), Error> {
    let (rows, next) = deliveries::failures(tx, hook, before, BATCH).await?;
    let mut count = 0;
    for row in rows.iter().filter(|row| is_redelivered(row, since_ms)) {
        deliveries::request_attempt(tx, row, DeliveryTrigger::Manual, false);
        count += 1;
    }
    let past_since = rows.last().is_some_and(|row| deliveries::all_before(row, since_ms));
    Ok((count, next.filter(|_| !past_since)))
}

/// Queues deliveries that still wait for these retries. Returns their number.
async fn retry_some(context: &Context, hook: u64, retries: &[(Key, u64)]) -> Result<u64, Error> {
    let recorder = &AuditRecorder::new(context);
    let step = async |tx: Tx| {
        let count = deliveries::request_retries(&tx, retries).await?;
        record(&tx, recorder, hook, "retries", count).await?;
        Ok::<_, Error>(count)
    };
    context.store.write(step).await
}

/// Requests the first delivery in the queue of a hook that waits for its next probe, unless a user requested one.
async fn request_probe(context: &Context, hook: u64) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    let step = async |tx: Tx| {
        if !is_resting(context, &tx, hook).await? || !deliveries::waiting(&tx, hook, 1, 0).await?.is_empty() {
            return Ok(());
        }
        let first = deliveries::waiting(&tx, hook, 0, 1).await?;
        let mut count = 0;
        for row in deliveries::many(&tx, &first).await?.iter().flatten() {
            deliveries::request_attempt(&tx, row, DeliveryTrigger::Manual, true);
            count += 1;
        }
        record(&tx, recorder, hook, "probes", count).await
    };
    context.store.write(step).await
}

/// Records that deliveries of a hook were queued; nothing if there were none.
async fn record(tx: &Tx, recorder: &AuditRecorder<'_>, hook: u64, name: &str, count: u64) -> Result<(), Error> {
    if count == 0 {
        return Ok(());
    }
    if let Some(row) = hooks::get(tx, hook).await? {
        let entry = Entry::new(Action::DeliveryRecover, Object::hook(tx, &row).await?);
        recorder.record(tx, entry.set(name, count)).await?;
    }
    Ok(())
}
