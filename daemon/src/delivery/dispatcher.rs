//! The dispatcher: starts one worker for each hook with queued deliveries, and moves due retries into the queues.
//!
//! A worker sends one request at a time. Which worker has claimed which delivery is known only in memory: one node at a
//! time serves the shard of a hook, and a delivery whose result was not recorded before a crash is still in its queue.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use tokio::sync::mpsc;

use super::{
    DeliveryContext,
    limits::ConcurrencyLimits,
    outbox::Announced,
    recorder::{self, Report},
    worker::{EndedWorker, Worker},
    worker_handle::WorkerHandle,
};
use crate::{
    clock::Millis,
    store::{StoreError, Tx, deliveries, leases::HeldLease, retried_work::RetriedWork},
};

/// Results that wait for the recorder before workers have to wait.
const REPORTS_MAX: usize = 512;
/// Due retries that one transaction moves into the queues.
const DUE_AT_ONCE: usize = 200;
/// Pause after an error of the store.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);

/// Runs the dispatcher until the daemon stops. Workers and recorder are short tasks, so the shutdown waits for them.
pub async fn run(context: DeliveryContext) {
    let (reports, inbox) = mpsc::channel(REPORTS_MAX);
    context.tasks.short(recorder::run(context.clone(), inbox));
    let (ended, mut ended_workers) = mpsc::unbounded_channel();
    let limits = Arc::new(ConcurrencyLimits::new(context.config.webhook.max_concurrent));
    let mut dispatcher = Dispatcher {
        context: context.clone(),
        reports,
        ended,
        limits,
        handles: HashMap::new(),
        parked: BTreeMap::new(),
        work: RetriedWork::new("looking for deliveries"),
    };
    let stop = context.tasks.stop().clone();
    context.outbox.announce_any();
    let mut next = dispatcher.due().await;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            announced = context.outbox.announced() => {
                let any = announced.any;
                dispatcher.announced(announced).await;
                if any {
                    next = dispatcher.due().await;
                }
            }
            Some(worker) = ended_workers.recv() => dispatcher.worker_ended(&worker),
            () = context.retries.wait(&context.clock, next.into_iter().chain(dispatcher.next_probe_ms()).min()) => {
                next = dispatcher.due().await;
            }
        }
    }
}

/// The running workers, and the failing hooks that wait for their next probe.
struct Dispatcher {
    context: DeliveryContext,
    reports: mpsc::Sender<Report>,
    ended: mpsc::UnboundedSender<EndedWorker>,
    limits: Arc<ConcurrencyLimits>,
    handles: HashMap<u64, Arc<WorkerHandle>>,
    /// Failing hooks.
    parked: BTreeMap<u64, ParkedHook>,
    work: RetriedWork,
}

/// A failing hook that waits for its next probe.
struct ParkedHook {
    probe_at_ms: Millis,
    /// The lease of its shard. Under another lease, the result of the last probe is not known.
    lease: Option<HeldLease>,
}

impl Dispatcher {
    /// Wakes the workers of announced hooks.
    async fn announced(&mut self, announced: Announced) {
        for (hook, urgent) in announced.hooks {
            self.wake(hook, urgent);
        }
        if announced.any {
            self.wake_all().await;
        }
    }

    /// Wakes the workers of all hooks with queued deliveries.
    async fn wake_all(&mut self) {
        match self.hooks_with_queues().await {
            Ok(hooks) => {
                self.work.succeeded();
                for (hook, urgent) in hooks {
                    self.wake(hook, urgent);
                }
            }
            Err(error) => {
                self.pause(&error).await;
                self.context.outbox.announce_any();
            }
        }
    }

    async fn hooks_with_queues(&self) -> Result<BTreeMap<u64, bool>, StoreError> {
        deliveries::hooks_with_queue(&self.context.store.read().await?).await
    }

    /// Wakes the worker of `hook`, or starts one. A failing hook waits for its next probe, unless the call is urgent.
    /// Does nothing if another node serves the shard of the hook.
    fn wake(&mut self, hook: u64, urgent: bool) {
        if let Some(handle) = self.handles.get(&hook) {
            handle.wake(urgent);
            return;
        }
        let Some(permit) = self.context.shards.permit(hook) else { return };
        if self.parked.get(&hook).is_some_and(|parked| parked.lease == permit.lease()) && !urgent {
            return;
        }
        self.parked.remove(&hook);
        let handle = Arc::new(WorkerHandle::default());
        self.handles.insert(hook, Arc::clone(&handle));
        let worker =
            Worker::new(self.context.clone(), hook, permit, handle, self.reports.clone(), Arc::clone(&self.limits));
        let ended = self.ended.clone();
        self.context.tasks.short(async move {
            let _ = ended.send(worker.run().await); // fails only when the daemon stops
        });
    }

    /// Removes a worker that has ended. If it was woken while it ended, starts another one.
    fn worker_ended(&mut self, worker: &EndedWorker) {
        let Some(handle) = self.handles.remove(&worker.hook) else { return };
        if let Some(probe_at_ms) = worker.probe_at_ms {
            self.parked.insert(worker.hook, ParkedHook { probe_at_ms, lease: worker.lease });
        }
        if let Some(urgent) = handle.take_wake() {
            self.wake(worker.hook, urgent);
        }
    }

    fn next_probe_ms(&self) -> Option<Millis> {
        self.parked.values().map(|parked| parked.probe_at_ms).min()
    }

    /// Moves due retries into the queues, and starts workers for the failing hooks whose probe is due. Returns
    /// when the next retry is due.
    async fn due(&mut self) -> Option<Millis> {
        let now = self.context.now_ms();
        let is_due = |parked: &ParkedHook| parked.probe_at_ms <= now;
        let due_hooks: Vec<u64> =
            self.parked.iter().filter(|(_, parked)| is_due(parked)).map(|(hook, _)| *hook).collect();
        for hook in due_hooks {
            self.parked.remove(&hook);
            self.wake(hook, false);
        }
        match self.enqueue_due_retries(now).await {
            Ok(next) => {
                self.work.succeeded();
                next
            }
            Err(error) => {
                self.pause(&error).await;
                Some(now)
            }
        }
    }

    async fn enqueue_due_retries(&mut self, now: Millis) -> Result<Option<Millis>, StoreError> {
        let shards = Arc::clone(&self.context.shards);
        let is_own = |hook| shards.serves(hook);
        loop {
            let due = deliveries::due(&self.context.store.read().await?, now, DUE_AT_ONCE, is_own).await?;
            if due.is_empty() {
                return deliveries::next_retry_ms(&self.context.store.read().await?, is_own).await;
            }
            self.context.store.write(async |tx: Tx| deliveries::queue_due(&tx, &due).await).await?;
            for (_, hook, _) in &due {
                self.wake(*hook, false);
            }
        }
    }

    async fn pause(&self, error: &StoreError) {
        self.work.failed(error);
        tokio::time::sleep(PAUSE_AFTER_ERROR).await;
    }
}
