//! The worker of one hook: takes deliveries from its lines, sends them one after the other on one
//! connection, and leaves when there is nothing to do.
//!
//! A result is handed over, not waited for: the next request goes out while earlier results become
//! durable. What is in hands stays in line until then.

use std::{collections::BTreeSet, error::Error as StdError, sync::Arc, time::Duration};

use farrier_proto::store::{Delivery, DeliveryTrigger, Hook, HookState};
use tokio::sync::mpsc;

use super::{handle::WorkerHandle, limits::ConcurrencyLimits, recorder::Report};
use crate::{
    app::App,
    clock::Millis,
    model::{retry, revision::Revision},
    service::{
        Error,
        deliveries::attempt::{self, Prepared, Sent},
    },
    store::{
        deliveries::{self, Outcome, Then},
        hooks,
    },
    webhook::Link,
};

/// Deliveries that are taken from the line at a time.
const BATCH: usize = 50;
/// Results that may be on their way to the disk before the worker waits for them.
const CLAIMS_MAX: usize = 256;
/// How long an idle worker keeps its connection: shorter than receivers do.
const LINGER: Duration = Duration::from_secs(4);
/// Pause after the store failed.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);

/// A worker that has left.
pub(super) struct Left {
    pub(super) hook: u64,
    /// When it wants to be called again; `None`: when there is something in line.
    pub(super) again_ms: Option<Millis>,
}

/// What there is to do.
enum Work {
    /// To send these.
    Send(Vec<Delivery>),
    /// To close these, which are not to be sent: the delivery, its wish, the reason.
    Close(Vec<(u64, DeliveryTrigger, &'static str)>),
    /// To wait until the result that ends the hook is recorded.
    Wait,
    /// Nothing before this time.
    Later(Millis),
    /// Nothing.
    Nothing,
}

/// The worker of one hook.
pub(super) struct Worker {
    app: App,
    hook: u64,
    handle: Arc<WorkerHandle>,
    reports: mpsc::Sender<Report>,
    limits: Arc<ConcurrencyLimits>,
    /// As the store will have it once all results are recorded.
    state: HookState,
    /// The delivery whose result switches the hook off. Nothing is sent until that is recorded.
    ending: Option<u64>,
}

impl Worker {
    pub(super) fn new(
        app: App,
        hook: u64,
        handle: Arc<WorkerHandle>,
        reports: mpsc::Sender<Report>,
        limits: Arc<ConcurrencyLimits>,
    ) -> Self {
        Self { app, hook, handle, reports, limits, state: HookState::default(), ending: None }
    }

    /// Works until there is nothing to do, or the daemon stops.
    pub(super) async fn run(mut self) -> Option<Millis> {
        let mut link = None;
        while !self.app.tasks.stop().is_cancelled() {
            self.handle.called();
            let claims = self.handle.claims();
            match self.work(&claims).await {
                Ok(Work::Send(rows)) => {
                    for row in rows {
                        if !self.deliver(row, &mut link).await {
                            return None;
                        }
                        // What was read before may be wrong now, or something else is more urgent.
                        if self.must_look_again() {
                            break;
                        }
                    }
                }
                Ok(Work::Close(closed)) => {
                    for (delivery, asked, reason) in closed {
                        self.close(delivery, asked, reason).await;
                    }
                }
                // Until it is recorded that the receiver wants no more, the hook still looks active.
                Ok(Work::Wait) => self.changed().await,
                // Results that are not recorded yet must not fall into another worker's hands.
                Ok(Work::Later(_) | Work::Nothing) if !claims.is_empty() => self.changed().await,
                Ok(Work::Later(at_ms)) => return Some(at_ms),
                Ok(Work::Nothing) => {
                    if !self.linger(&mut link).await {
                        return None;
                    }
                }
                Err(error) => {
                    self.failed(&error);
                    tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                }
            }
        }
        None
    }

    /// Whether the rest of a batch must not be sent as it was read: other hooks' turn has come, a probe has failed, the
    /// receiver wants no more, or somebody waits for an urgent delivery.
    fn must_look_again(&self) -> bool {
        let probed = retry::probed_at(&self.state).is_some_and(|at| at > self.app.now_ms());
        probed || self.ending.is_some() || self.handle.is_urgent()
    }

    async fn changed(&self) {
        tokio::select! {
            () = self.handle.changed() => {}
            () = self.app.tasks.stop().cancelled() => {}
        }
    }

    /// Waits for a while with the connection open; whether there is something to do.
    async fn linger(&self, link: &mut Option<Link>) -> bool {
        let Some(open) = link else { return false };
        tokio::select! {
            () = self.handle.changed() => return true,
            () = open.closed() => {}
            () = tokio::time::sleep(LINGER) => {}
            () = self.app.tasks.stop().cancelled() => {}
        }
        *link = None;
        false
    }

    /// Looks what there is to do beside what is in hands.
    async fn work(&mut self, claims: &BTreeSet<u64>) -> Result<Work, Error> {
        let snapshot = self.app.store.read().await?;
        if claims.is_empty() {
            self.state = hooks::state(&snapshot, self.hook).await?;
        }
        match self.ending {
            Some(delivery) if claims.contains(&delivery) => return Ok(Work::Wait),
            _ => self.ending = None,
        }
        let hook = hooks::get(&snapshot, self.hook).await?;
        // What waits for a hook that gets nothing is closed at once.
        let wait_until = retry::probed_at(&self.state).filter(|_| hook.as_ref().is_some_and(|hook| hook.active));
        let probing = wait_until.is_some();
        let resting = wait_until.filter(|at| *at > self.app.now_ms());
        let line = match (resting, probing) {
            (Some(_), _) => 0,
            (None, true) => 1,
            (None, false) => BATCH,
        };
        let room = |most: usize| if most == 0 { 0 } else { most + claims.len() };
        let mut ids = deliveries::waiting(&snapshot, self.hook, room(BATCH), room(line)).await?;
        let mut seen = claims.clone();
        ids.retain(|id| seen.insert(*id));
        if ids.is_empty() {
            return Ok(resting.map_or(Work::Nothing, Work::Later));
        }
        let rows = deliveries::many(&snapshot, &ids).await?;
        Ok(sort(&self.app, hook.as_ref(), &ids, rows))
    }

    /// Makes one attempt; `false` when the daemon stops.
    async fn deliver(&mut self, row: Delivery, link: &mut Option<Link>) -> bool {
        let stop = self.app.tasks.stop().clone();
        let last_moment = async {
            stop.cancelled().await;
            tokio::time::sleep(self.app.config.server.drain_grace).await;
        };
        let outcome = tokio::select! {
            outcome = self.attempt(row, link) => outcome,
            () = last_moment => return false,
        };
        match outcome {
            Ok(Some(outcome)) => {
                if let Some(attempt) = &outcome.attempt {
                    note(&mut self.state, attempt.error_class.is_empty(), self.app.now_ms());
                }
                let disable_after_ms = i64::try_from(self.app.config.webhook.disable_after.as_millis());
                let hopeless = retry::is_hopeless(&self.state, self.app.now_ms(), disable_after_ms.unwrap_or(i64::MAX));
                if outcome.then == Then::Gone || hopeless {
                    self.ending = Some(outcome.delivery);
                }
                self.hand_over(outcome).await;
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.failed(&error);
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                true
            }
        }
    }

    fn failed(&self, error: &Error) {
        let error = error as &dyn StdError;
        tracing::error!(hook = self.hook, error, "reading deliveries failed and will be tried again");
    }

    /// Prepares and sends; `None` when the daemon stops before anything was sent.
    async fn attempt(&self, row: Delivery, link: &mut Option<Link>) -> Result<Option<Outcome>, Error> {
        let (id, asked) = (row.id, row.next_trigger());
        let prepared = match attempt::prepare(&self.app, row).await? {
            Prepared::Ready(ready) => ready,
            Prepared::Closed(reason) => return Ok(Some(closed(self.hook, id, asked, reason))),
        };
        let stop = self.app.tasks.stop();
        let permit = tokio::select! {
            permit = self.limits.take(self.state.failures > 0) => permit,
            () = stop.cancelled() => return Ok(None),
        };
        Ok(Some(match self.limits.run(permit, prepared.send(&self.app, link)).await? {
            Sent::Attempt(outcome) => *outcome,
            Sent::Closed(reason) => closed(self.hook, id, asked, reason),
        }))
    }

    async fn close(&self, delivery: u64, asked: DeliveryTrigger, reason: &'static str) {
        self.hand_over(closed(self.hook, delivery, asked, reason)).await;
    }

    /// Gives a result to the recorder, and waits when too many are on their way.
    async fn hand_over(&self, outcome: Outcome) {
        self.handle.claim(outcome.delivery);
        let report = Report { outcome, handle: Arc::clone(&self.handle) };
        let _ = self.reports.send(report).await; // the recorder outlives its workers
        while self.handle.held() >= CLAIMS_MAX && !self.app.tasks.stop().is_cancelled() {
            self.changed().await;
        }
    }
}

/// What a result changes of a hook's state.
fn note(state: &mut HookState, success: bool, now_ms: Millis) {
    if state.failures == 0 || success {
        state.failing_since_ms = if success { 0 } else { now_ms };
    }
    state.failures = if success { 0 } else { state.failures + 1 };
    state.last_delivery_ms = now_ms;
}

fn closed(hook: u64, delivery: u64, asked: DeliveryTrigger, reason: &'static str) -> Outcome {
    let then = Then::Close(reason);
    Outcome { delivery, hook, revision: Revision(0), asked, said_bytes: 0, attempt: None, then }
}

/// What is sent and what is closed. The hook is looked at again before each delivery is sent: here it only decides what
/// can be closed together.
fn sort(app: &App, hook: Option<&Hook>, ids: &[u64], rows: Vec<Option<Delivery>>) -> Work {
    let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
    for (id, row) in ids.iter().zip(rows) {
        let Some(row) = row else {
            unwanted.push((*id, DeliveryTrigger::Manual, "the delivery is forgotten"));
            continue;
        };
        match attempt::refusal(app, hook, &row) {
            Some(reason) => unwanted.push((*id, row.next_trigger(), reason)),
            None => wanted.push(row),
        }
    }
    if unwanted.is_empty() { Work::Send(wanted) } else { Work::Close(unwanted) }
}
