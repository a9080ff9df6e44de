//! The sender: brings deliveries to their receivers.
//!
//! One worker for each hook that has something to send, one request of a hook at a time, results of
//! all workers recorded together. What is in whose hands is only known here: the store belongs to one
//! process, so that what a crash leaves unrecorded is simply still in line.

mod handle;
mod limits;
mod recorder;
mod worker;

use std::{
    collections::{BTreeMap, HashMap},
    error::Error as StdError,
    sync::Arc,
    time::Duration,
};

use tokio::sync::mpsc;

use self::{
    handle::WorkerHandle,
    limits::ConcurrencyLimits,
    recorder::Report,
    worker::{Left, Worker},
};
use crate::{
    app::App,
    clock::Millis,
    store::{StoreError, Tx, deliveries},
};

/// Results that wait to be recorded before workers wait.
const REPORTS_MAX: usize = 512;
/// Due attempts that are put into line at a time.
const DUE_AT_ONCE: usize = 200;
/// Pause after the store failed.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);

/// Runs until the daemon stops. What is on its way then is finished by tasks that are waited for.
pub async fn run(app: App) {
    let (reports, inbox) = mpsc::channel(REPORTS_MAX);
    app.tasks.short(recorder::run(app.clone(), inbox));
    let (left, mut leaving) = mpsc::unbounded_channel();
    let limits = Arc::new(ConcurrencyLimits::new(app.config.webhook.max_concurrent));
    let mut dispatcher =
        Dispatcher { app: app.clone(), reports, left, limits, handles: HashMap::new(), parked: BTreeMap::new() };
    let stop = app.tasks.stop().clone();
    let mut next = dispatcher.begin().await;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            hooks = app.outbox.announced() => {
                for (hook, urgent) in hooks {
                    dispatcher.call(hook, urgent);
                }
            }
            Some(worker) = leaving.recv() => dispatcher.leave(&worker),
            () = app.retries.wait(&app.clock, next.into_iter().chain(dispatcher.next_visit()).min()) => {
                next = dispatcher.due().await;
            }
        }
    }
}

/// Who works at the moment, and who is to be visited later.
struct Dispatcher {
    app: App,
    reports: mpsc::Sender<Report>,
    left: mpsc::UnboundedSender<Left>,
    limits: Arc<ConcurrencyLimits>,
    handles: HashMap<u64, Arc<WorkerHandle>>,
    /// Failing hooks by the time of their next probe.
    parked: BTreeMap<u64, Millis>,
}

impl Dispatcher {
    /// Calls a worker for every hook that has something in line.
    async fn begin(&mut self) -> Option<Millis> {
        loop {
            match self.lines().await {
                Ok(hooks) => {
                    for hook in hooks {
                        self.call(hook, false);
                    }
                    return self.due().await;
                }
                Err(error) => self.pause(&error).await,
            }
        }
    }

    async fn lines(&self) -> Result<Vec<u64>, StoreError> {
        deliveries::hooks_with_lines(&self.app.store.read().await?).await
    }

    /// Has a worker look at the lines of `hook`. A failing hook waits for its next probe unless
    /// somebody waits for it.
    fn call(&mut self, hook: u64, urgent: bool) {
        if let Some(handle) = self.handles.get(&hook) {
            handle.call(urgent);
            return;
        }
        if self.parked.contains_key(&hook) && !urgent {
            return;
        }
        self.parked.remove(&hook);
        let handle = Arc::new(WorkerHandle::default());
        self.handles.insert(hook, Arc::clone(&handle));
        let worker = Worker::new(self.app.clone(), hook, handle, self.reports.clone(), Arc::clone(&self.limits));
        let left = self.left.clone();
        self.app.tasks.short(async move {
            let again_ms = worker.run().await;
            let _ = left.send(Left { hook, again_ms }); // nobody listens any more when the daemon stops
        });
    }

    /// A worker has left. Who was called while it was leaving is called again.
    fn leave(&mut self, worker: &Left) {
        let Some(handle) = self.handles.remove(&worker.hook) else { return };
        if let Some(at_ms) = worker.again_ms {
            self.parked.insert(worker.hook, at_ms);
        }
        if let Some(urgent) = handle.called() {
            self.call(worker.hook, urgent);
        }
    }

    fn next_visit(&self) -> Option<Millis> {
        self.parked.values().min().copied()
    }

    /// Puts due attempts into line and visits the parked hooks whose time has come; when the next
    /// attempt is due.
    async fn due(&mut self) -> Option<Millis> {
        let now = self.app.now_ms();
        let visits: Vec<u64> = self.parked.iter().filter(|(_, at)| **at <= now).map(|(hook, _)| *hook).collect();
        for hook in visits {
            self.parked.remove(&hook);
            self.call(hook, false);
        }
        match self.line_up(now).await {
            Ok(next) => next,
            Err(error) => {
                self.pause(&error).await;
                Some(now)
            }
        }
    }

    async fn line_up(&mut self, now: Millis) -> Result<Option<Millis>, StoreError> {
        loop {
            let due = deliveries::due(&self.app.store.read().await?, now, DUE_AT_ONCE).await?;
            if due.is_empty() {
                return deliveries::next_retry_ms(&self.app.store.read().await?).await;
            }
            self.app.store.write(async |tx: Tx| deliveries::line_up(&tx, &due).await).await?;
            for (_, hook, _) in &due {
                self.call(*hook, false);
            }
        }
    }

    async fn pause(&self, error: &StoreError) {
        tracing::error!(error = error as &dyn StdError, "looking for deliveries failed and will be tried again");
        tokio::time::sleep(PAUSE_AFTER_ERROR).await;
    }
}
