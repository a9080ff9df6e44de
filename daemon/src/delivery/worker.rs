//! The worker of one hook: takes deliveries from the queue, sends them one after the other on one connection, and ends
//! when the queue is empty.
//!
//! A worker does not wait until a result is recorded: the next request is sent while the recorder writes. Until a
//! result is recorded, the delivery stays in the queue and the worker keeps its claim on it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use farrier_proto::store::{Delivery, DeliveryTrigger, Hook, HookState};
use tokio::sync::mpsc;

use super::{
    DeliveryContext, DeliveryError,
    attempt::{self, Prepared, SendResult},
    limits::ConcurrencyLimits,
    recorder::Report,
    shards::ShardPermit,
    worker_handle::WorkerHandle,
};
use crate::{
    clock::Millis,
    model::{delivery_failure::CancelReason, hook_health, revision::Revision},
    store::{
        deliveries::{self, NextStep, Outcome},
        hooks,
        leases::HeldLease,
        retried_work::RetriedWork,
    },
    webhook::Link,
};

/// Deliveries that are read from the queue at a time.
const BATCH: usize = 50;
/// Maximum number of claims: the worker waits for the recorder beyond it.
const CLAIMS_MAX: usize = 256;
/// How long an idle worker keeps its connection: shorter than the keep-alive of common receivers.
const LINGER: Duration = Duration::from_secs(4);
/// Pause after an error of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);

/// A worker that has ended.
pub(super) struct EndedWorker {
    pub(super) hook: u64,
    /// The lease under which it has sent.
    pub(super) lease: Option<HeldLease>,
    /// When to start a worker for the next probe; `None`: when a delivery is queued.
    pub(super) probe_at_ms: Option<Millis>,
}

/// The next step of a worker.
enum Step {
    /// Send these deliveries.
    Send(Vec<Delivery>),
    /// Cancel these deliveries: id, trigger, reason.
    Cancel(Vec<(u64, DeliveryTrigger, CancelReason)>),
    /// Wait until the result that switches the hook off is recorded.
    Wait,
    /// Nothing to do before this time.
    Later(Millis),
    /// Nothing to do.
    Nothing,
}

/// Sends the deliveries of one hook.
pub(super) struct Worker {
    context: DeliveryContext,
    hook: u64,
    permit: ShardPermit,
    handle: Arc<WorkerHandle>,
    reports: mpsc::Sender<Report>,
    limits: Arc<ConcurrencyLimits>,
    /// The state of the hook as it will be when all results are recorded.
    state: HookState,
    /// The delivery whose result switches the hook off. Nothing is sent until it is recorded.
    ending: Option<u64>,
    reading: RetriedWork,
}

impl Worker {
    pub(super) fn new(
        context: DeliveryContext,
        hook: u64,
        permit: ShardPermit,
        handle: Arc<WorkerHandle>,
        reports: mpsc::Sender<Report>,
        limits: Arc<ConcurrencyLimits>,
    ) -> Self {
        let (state, ending) = (HookState::default(), None);
        let reading = RetriedWork::new(format!("reading the deliveries of hook {hook}"));
        Self { context, hook, permit, handle, reports, limits, state, ending, reading }
    }

    /// Runs until there is nothing to do, the node gives the shard of the hook back, or the daemon stops.
    pub(super) async fn run(mut self) -> EndedWorker {
        let probe_at_ms = self.send_all().await;
        let lease = self.permit.lease();
        // The next node must not send a delivery again whose result is about to be recorded.
        while lease.is_some() && self.handle.claimed() > 0 {
            self.handle.changed().await;
        }
        EndedWorker { hook: self.hook, lease, probe_at_ms }
    }

    /// Sends deliveries. Returns the time of the next probe, if the hook fails.
    async fn send_all(&mut self) -> Option<Millis> {
        let mut link = None;
        while !self.permit.end().is_cancelled() {
            self.handle.take_wake();
            let claims = self.handle.claims();
            match self.next_step(&claims).await {
                Ok(Step::Send(rows)) => {
                    self.reading.succeeded();
                    for row in rows {
                        if !self.deliver(row, &mut link).await {
                            return None;
                        }
                        // The rest of the batch may be outdated, or something else is more urgent.
                        if self.batch_is_outdated() {
                            break;
                        }
                    }
                }
                Ok(Step::Cancel(cancelled)) => {
                    for (delivery, trigger, reason) in cancelled {
                        self.cancel(delivery, trigger, reason).await;
                    }
                }
                // Until the result is recorded, the row of the hook is still active.
                Ok(Step::Wait) => self.changed().await,
                // The claims must be released before another worker can start for this hook.
                Ok(Step::Later(_) | Step::Nothing) if !claims.is_empty() => self.changed().await,
                Ok(Step::Later(at_ms)) => return Some(at_ms),
                Ok(Step::Nothing) => {
                    if !self.linger(&mut link).await {
                        return None;
                    }
                }
                Err(error) => {
                    self.reading.failed(&error);
                    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                }
            }
        }
        None
    }

    /// Returns whether the rest of a batch must not be sent: a probe has failed, the hook is being switched off, an
    /// urgent delivery was queued, or the worker must end.
    fn batch_is_outdated(&self) -> bool {
        let probed = hook_health::probed_at(&self.state).is_some_and(|at| at > self.context.now_ms());
        probed || self.ending.is_some() || self.handle.is_urgent() || self.permit.end().is_cancelled()
    }

    async fn changed(&self) {
        tokio::select! {
            () = self.handle.changed() => {}
            () = self.permit.end().cancelled() => {}
        }
    }

    /// Waits up to [`LINGER`] with the connection open. Returns whether the worker was woken.
    async fn linger(&self, link: &mut Option<Link>) -> bool {
        let Some(open) = link else { return false };
        tokio::select! {
            () = self.handle.changed() => return true,
            () = open.closed() => {}
            () = tokio::time::sleep(LINGER) => {}
            () = self.permit.end().cancelled() => {}
        }
        *link = None;
        false
    }

    /// Decides the next step from the queue, leaving out claimed deliveries.
    async fn next_step(&mut self, claims: &BTreeSet<u64>) -> Result<Step, DeliveryError> {
        let snapshot = self.context.store.read().await?;
        if claims.is_empty() {
            self.state = hooks::state(&snapshot, self.hook).await?;
        }
        match self.ending {
            Some(delivery) if claims.contains(&delivery) => return Ok(Step::Wait),
            _ => self.ending = None,
        }
        let hook = hooks::get(&snapshot, self.hook).await?;
        // Deliveries of a hook that is gone or inactive are cancelled at once.
        let wait_until = hook_health::probed_at(&self.state).filter(|_| hook.as_ref().is_some_and(|hook| hook.active));
        let probing = wait_until.is_some();
        let resting = wait_until.filter(|at| *at > self.context.now_ms());
        let line = match (resting, probing) {
            (Some(_), _) => 0,
            (None, true) => 1,
            (None, false) => BATCH,
        };
        let room = |most: usize| if most == 0 { 0 } else { most + claims.len() };
        let mut ids = deliveries::waiting(&snapshot, self.hook, room(BATCH), room(line)).await?;
        let mut known_ids = claims.clone();
        ids.retain(|id| known_ids.insert(*id));
        if ids.is_empty() {
            return Ok(resting.map_or(Step::Nothing, Step::Later));
        }
        let rows = deliveries::many(&snapshot, &ids).await?;
        Ok(plan(&self.context, hook.as_ref(), &ids, rows))
    }

    /// Makes one attempt. Returns `false` when the worker must end.
    async fn deliver(&mut self, row: Delivery, link: &mut Option<Link>) -> bool {
        let stop = self.context.tasks.stop().clone();
        let last_moment = async {
            stop.cancelled().await;
            tokio::time::sleep(self.context.config.server.drain_grace).await;
        };
        let outcome = tokio::select! {
            outcome = self.attempt(row, link) => outcome,
            () = last_moment => return false,
        };
        match outcome {
            Ok(Some(outcome)) => {
                if let Some(attempt) = &outcome.attempt {
                    note(&mut self.state, attempt.error_class.is_empty(), self.context.now_ms());
                }
                let disable_after_ms = i64::try_from(self.context.config.webhook.disable_after.as_millis());
                let hopeless =
                    hook_health::is_hopeless(&self.state, self.context.now_ms(), disable_after_ms.unwrap_or(i64::MAX));
                if outcome.next == NextStep::Gone || hopeless {
                    self.ending = Some(outcome.delivery);
                }
                self.hand_over(outcome).await;
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.reading.failed(&error);
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                true
            }
        }
    }

    /// Prepares and sends a delivery; `None` if the worker must end before anything was sent.
    async fn attempt(&self, row: Delivery, link: &mut Option<Link>) -> Result<Option<Outcome>, DeliveryError> {
        let (id, trigger) = (row.id, row.next_trigger());
        let prepared = match attempt::prepare(&self.context, row).await? {
            Prepared::Ready(ready) => ready,
            Prepared::Cancelled(reason) => return Ok(Some(cancelled(self.hook, id, trigger, reason))),
        };
        let permit = tokio::select! {
            permit = self.limits.take(self.state.failures > 0) => permit,
            () = self.permit.end().cancelled() => return Ok(None),
        };
        if self.permit.end().is_cancelled() || !self.context.shards.is_sure(&self.context.clock) {
            return Ok(None);
        }
        Ok(Some(match self.limits.run(permit, prepared.send(&self.context, link)).await? {
            SendResult::Attempt(outcome) => *outcome,
            SendResult::Cancelled(reason) => cancelled(self.hook, id, trigger, reason),
        }))
    }

    async fn cancel(&self, delivery: u64, trigger: DeliveryTrigger, reason: CancelReason) {
        self.hand_over(cancelled(self.hook, delivery, trigger, reason)).await;
    }

    /// Passes a result to the recorder, and waits while there are too many claims.
    async fn hand_over(&self, outcome: Outcome) {
        self.handle.claim(outcome.delivery);
        let report = Report { outcome, lease: self.permit.lease(), handle: Arc::clone(&self.handle) };
        let _ = self.reports.send(report).await; // the recorder outlives its workers
        while self.handle.claimed() >= CLAIMS_MAX && !self.permit.end().is_cancelled() {
            self.changed().await;
        }
    }
}

/// Applies the result of an attempt to the state of the hook, as the recorder will.
fn note(state: &mut HookState, success: bool, now_ms: Millis) {
    if state.failures == 0 || success {
        state.failing_since_ms = if success { 0 } else { now_ms };
    }
    state.failures = if success { 0 } else { state.failures + 1 };
    state.last_delivery_ms = now_ms;
}

fn cancelled(hook: u64, delivery: u64, trigger: DeliveryTrigger, reason: CancelReason) -> Outcome {
    Outcome {
        delivery,
        hook,
        revision: Revision(0),
        payload_bytes: 0,
        next_trigger: trigger,
        attempt: None,
        next: NextStep::Cancel(reason),
    }
}

/// Separates deliveries to send from deliveries to cancel. The hook is read again before each attempt; here it only
/// decides which deliveries can be cancelled together.
fn plan(context: &DeliveryContext, hook: Option<&Hook>, ids: &[u64], rows: Vec<Option<Delivery>>) -> Step {
    let (mut to_send, mut to_cancel) = (Vec::new(), Vec::new());
    for (id, row) in ids.iter().zip(rows) {
        let Some(row) = row else {
            to_cancel.push((*id, DeliveryTrigger::Manual, CancelReason::DeliveryForgotten));
            continue;
        };
        match attempt::refusal(context, hook, &row) {
            Some(reason) => to_cancel.push((*id, row.next_trigger(), reason)),
            None => to_send.push(row),
        }
    }
    if to_cancel.is_empty() { Step::Send(to_send) } else { Step::Cancel(to_cancel) }
}
