//! All tasks and threads of the daemon. No other module may spawn; a lint enforces this.
//!
//! A *long-lived* task runs until the daemon stops. If one ends earlier, the daemon stops with an error that names the
//! task, so that the service manager restarts it. A *short* task is work of limited duration that outlives the request
//! that started it; the shutdown waits for short tasks.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use futures_util::future::Either;
use rustix::process::{getpriority_process, setpriority_process};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};
use tokio::{
    runtime::{Handle, Runtime},
    sync::{mpsc, oneshot},
    task::JoinError,
};
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};

tokio::task_local! {
    /// Tracks the blocking work that a task of a daemon starts. It continues when the task is dropped, so the shutdown
    /// waits for it.
    static BLOCKING: TaskTracker;
}

/// Why the daemon's tasks ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum TasksError {
    /// A long-lived task returned.
    #[error("task {name} ended by itself")]
    Ended {
        /// The task's name.
        name: &'static str,
    },
    /// A long-lived task panicked.
    #[error("a task panicked")]
    Panicked(#[source] JoinError),
    /// Tasks were still running after the grace period.
    #[error("tasks were still running after {grace:?}")]
    Grace {
        /// The grace period.
        grace: Duration,
    },
}

/// How a long-lived task ended.
type End = (&'static str, Result<(), JoinError>);

/// The daemon's tasks. Clones share them.
#[derive(Clone)]
pub struct Tasks {
    long: TaskTracker,
    ended: mpsc::UnboundedSender<End>,
    /// Taken by [`Tasks::supervise`].
    ends: Arc<Mutex<Option<mpsc::UnboundedReceiver<End>>>>,
    /// Aborts long-lived tasks that do not end in time.
    abort: CancellationToken,
    short: TaskTracker,
    blocking: TaskTracker,
    stop: CancellationToken,
    background: BackgroundThreads,
}

/// How much nicer background threads are. Under load they get about a tenth of the time of other threads.
const BACKGROUND_NICENESS: i32 = 10;

/// A runtime with threads of its own, as many as there are cores. It starts with its first task.
#[derive(Clone, Default)]
struct BackgroundThreads(Arc<OnceLock<BackgroundRuntime>>);

struct BackgroundRuntime(Option<Runtime>);

impl BackgroundThreads {
    /// Returns the runtime, or `None` if its threads cannot be started.
    fn handle(&self) -> Option<&Handle> {
        let runtime = self.0.get_or_init(|| {
            let mut threads = tokio::runtime::Builder::new_multi_thread();
            let niceness = getpriority_process(None).unwrap_or(0) + BACKGROUND_NICENESS;
            threads.thread_name("background").enable_all().on_thread_start(move || {
                // Not relative: a thread for blocking work inherits the niceness of the thread that started it. Without
                // the permission to change it, the thread has normal priority.
                _ = setpriority_process(None, niceness);
            });
            BackgroundRuntime(threads.build().ok())
        });
        runtime.0.as_ref().map(Runtime::handle)
    }
}

impl Drop for BackgroundRuntime {
    fn drop(&mut self) {
        // Unlike a drop of the runtime, this does not block, which is forbidden on the threads of other runtimes.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new(CancellationToken::new())
    }
}

impl Tasks {
    /// Creates a group of tasks that end when `stop` is cancelled.
    pub fn new(stop: CancellationToken) -> Self {
        let (ended, ends) = mpsc::unbounded_channel();
        let ends = Arc::new(Mutex::new(Some(ends)));
        let (long, short, blocking) = (TaskTracker::new(), TaskTracker::new(), TaskTracker::new());
        let (abort, background) = (CancellationToken::new(), BackgroundThreads::default());
        Self { long, ended, ends, abort, short, blocking, stop, background }
    }

    /// Returns the token that is cancelled when the daemon stops.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Starts a long-lived task. It must watch [`Tasks::stop`].
    pub fn keep(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.keep_on(&Handle::current(), name, task);
    }

    /// Like [`Tasks::keep`], but the task, and the tasks that it starts, run on threads of their own with lower
    /// priority, so that requests do not wait for them.
    pub fn keep_in_background(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let current = Handle::current();
        self.keep_on(self.background.handle().unwrap_or(&current), name, task);
    }

    fn keep_on(&self, runtime: &Handle, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let running = AbortOnDropHandle::new(runtime.spawn(BLOCKING.scope(self.blocking.clone(), task)));
        let (ended, abort) = (self.ended.clone(), self.abort.clone());
        let watched = self.long.track_future(async move {
            tokio::select! {
                end = running => {
                    let _ = ended.send((name, end)); // fails after the shutdown has ended
                }
                () = abort.cancelled() => {}
            }
        });
        #[expect(clippy::disallowed_methods, reason = "the only module that spawns")]
        tokio::spawn(watched);
    }

    /// Starts a short task.
    pub fn short(&self, task: impl Future<Output = ()> + Send + 'static) {
        #[expect(clippy::disallowed_methods, reason = "the only module that spawns")]
        tokio::spawn(self.short.track_future(BLOCKING.scope(self.blocking.clone(), task)));
    }

    /// Returns the number of running short tasks.
    pub fn short_running(&self) -> usize {
        self.short.len()
    }

    /// Runs `work` to its end, even if the returned future is dropped.
    pub async fn carry<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let (done, result) = oneshot::channel();
        self.short(async move {
            let _ = done.send(work.await); // fails if the caller has stopped waiting
        });
        result.await.expect("work that is carried does not panic")
    }

    /// Waits until `stop` is cancelled or a long-lived task ends, then gives all tasks `grace`.
    pub async fn supervise(self, grace: Duration) -> Result<(), TasksError> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut ends = ends.expect("tasks are supervised once");
        let early = tokio::select! {
            () = self.stop.cancelled() => Ok(()),
            Some((name, end)) = ends.recv() => match end {
                // A task can react to the stop before this function does.
                Ok(()) if self.stop.is_cancelled() => Ok(()),
                Ok(()) => Err(TasksError::Ended { name }),
                Err(panicked) => Err(TasksError::Panicked(panicked)),
            },
        };
        self.stop.cancel();
        self.long.close();
        self.short.close();
        self.blocking.close();
        let drain = async {
            self.long.wait().await;
            self.short.wait().await;
        };
        let deadline = tokio::time::Instant::now() + grace;
        let in_time = tokio::time::timeout_at(deadline, drain).await.is_ok();
        self.abort.cancel();
        // Such as the removal of files: nothing may change the data directory after the shutdown.
        if tokio::time::timeout_at(deadline, self.blocking.wait()).await.is_err() {
            tracing::warn!("blocking work was still running after the grace period");
        }
        early?;
        if in_time { Ok(()) } else { Err(TasksError::Grace { grace }) }
    }
}

/// Runs `work` to its end, even if the returned future is dropped. The shutdown does not wait for it. Returns `None`
/// if `work` panicked or the runtime was stopped.
pub fn detached<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> impl Future<Output = Option<T>> + Send + 'static {
    let work = match BLOCKING.try_with(Clone::clone) {
        Ok(blocking) => Either::Left(BLOCKING.scope(blocking, work)),
        // Not in a task of a daemon.
        Err(_) => Either::Right(work),
    };
    #[expect(clippy::disallowed_methods, reason = "the only module that spawns")]
    let handle = tokio::spawn(work);
    async move { handle.await.ok() }
}

/// Runs blocking `work` on a separate thread. A panic in `work` is resumed in the caller.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    begin(work).await
}

/// Like [`blocking`], but `work` starts at once, and continues if the future is dropped.
pub fn begin<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> impl Future<Output = T> + Send + 'static {
    let running = BLOCKING.try_with(TaskTracker::token).ok();
    #[expect(clippy::disallowed_methods, reason = "the only module that spawns")]
    let handle = tokio::task::spawn_blocking(move || {
        let _running = running;
        work()
    });
    async move {
        match handle.await {
            Ok(result) => result,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

/// Runs blocking `work` for a `Drop`: on a separate thread if a task of the daemon drops the value, so that other tasks
/// do not wait, otherwise at once. The shutdown waits for it.
pub fn from_drop(work: impl FnOnce() + Send + 'static) {
    let work = AtLatestOnDrop(Some(work));
    if BLOCKING.try_with(|_| ()).is_ok() && Handle::try_current().is_ok() {
        drop(begin(move || drop(work)));
    }
    // Otherwise `work` is dropped here.
}

/// Work that is done when this is dropped: by the thread that received it, or at the end of the runtime, which drops
/// tasks and starts no more work.
struct AtLatestOnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for AtLatestOnDrop<F> {
    fn drop(&mut self) {
        if let Some(work) = self.0.take() {
            work();
        }
    }
}

/// Starts a dedicated thread for long-lived blocking work, such as a storage engine's writer.
pub fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<std::thread::JoinHandle<()>> {
    #[expect(clippy::disallowed_methods, reason = "the only module that spawns")]
    std::thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Runs `work` on a thread of its own, which the kernel runs only while a core is idle. It continues if the future is
/// dropped, and the shutdown does not wait for it. Returns `None` if the thread did not start or `work` panicked.
///
/// An unprivileged thread cannot get its normal priority back, so threads of the runtime cannot be used.
pub fn thread_when_idle<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Option<T>> + Send + 'static {
    let (sender, receiver) = oneshot::channel();
    let started = thread(name, move || {
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        // Without the permission to change it, the thread has normal priority.
        _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
        _ = sender.send(work());
    });
    async move {
        started.ok()?;
        receiver.await.ok()
    }
}

#[cfg(test)]
mod tests;
