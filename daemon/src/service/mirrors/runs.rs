//! Tracks and starts the runs of mirrors.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{failure::MirrorFailure, pull, push, schedule};
use crate::{
    clock::Millis,
    hints::{DueWork, OutgoingHints},
    service::{Context, Error},
    shares::Holder,
    store::{leases, mirrors, repositories},
    wake::Wake,
};

/// The lease of the node that runs mirrors.
pub const LEASE: &str = "mirrors";
/// Interval at which a run checks whether another node has deleted its mirror.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// Interval at which a request checks whether the node that runs mirrors has done it.
const RESULT_EVERY: Duration = Duration::from_millis(250);
/// Largest number of claimed mirrors. Most of them wait for a share.
const CLAIMS_MAX: usize = 64;
/// Pause before the due mirrors are read again while mirrors are switched off.
const PAUSE_WHEN_OFF_MS: Millis = 60_000;
/// Pause after a run whose result was not recorded. The mirror is still due, and would run again at once.
const PAUSE_UNRECORDED: Duration = Duration::from_secs(60);

type MirrorKey = (u64, String);

/// The running syncs of mirrors, and the signal that mirrors may be due.
#[derive(Debug, Default)]
pub struct MirrorRuns {
    wake: Wake,
    claims: Mutex<HashMap<MirrorKey, CancellationToken>>,
    ended: Notify,
    counts: MirrorCounts,
}

/// Numbers of ended runs since the start.
#[derive(Debug, Default)]
pub struct MirrorCounts {
    /// Successful syncs of pull mirrors.
    pub pulled: AtomicU64,
    /// Failed syncs of pull mirrors.
    pub pulls_failed: AtomicU64,
    /// Successful runs of push mirrors.
    pub pushed: AtomicU64,
    /// Failed runs of push mirrors.
    pub pushes_failed: AtomicU64,
}

impl MirrorRuns {
    /// Creates the state without runs. It notifies other nodes of due mirrors with `hints`.
    pub fn new(hints: OutgoingHints) -> Self {
        Self { wake: Wake::of_work(DueWork::Mirrors, hints), ..Self::default() }
    }

    /// Records that mirrors are due at `at_ms`, as another node has notified.
    pub(in crate::service) fn due_here_at(&self, at_ms: Millis) {
        self.wake.due_here_at(at_ms);
    }

    /// Waits until mirrors may be due. `next`: when the next one is due according to the store.
    pub async fn wait(&self, context: &Context, next: Option<Millis>) {
        self.wake.wait(&context.clock, next).await;
    }

    /// Returns whether a mirror of the repository is running.
    pub fn is_running(&self, repository: u64) -> bool {
        self.claims().keys().any(|(id, _)| *id == repository)
    }

    /// Returns the numbers of ended runs.
    pub fn counts(&self) -> &MirrorCounts {
        &self.counts
    }

    /// Cancels the run of a mirror, if there is one. It keeps what it has recorded.
    pub(super) fn cancel(&self, repository: u64, name: &str) {
        if let Some(cancel) = self.claims().get(&(repository, name.to_owned())) {
            cancel.cancel();
        }
    }

    /// Claims a mirror, so that no other task runs it. `None`: it is running, or too many are claimed.
    fn claim<'a>(&'a self, repository: u64, name: &str) -> Option<Claim<'a>> {
        let key = (repository, name.to_owned());
        let mut claims = self.claims();
        if claims.len() >= CLAIMS_MAX || claims.contains_key(&key) {
            return None;
        }
        let cancel = CancellationToken::new();
        claims.insert(key.clone(), cancel.clone());
        Some(Claim { runs: self, key, cancel })
    }

    /// Waits until the mirror can be claimed.
    async fn wait_for_claim(&self, repository: u64, name: &str) -> Claim<'_> {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            ended.as_mut().enable();
            if let Some(claim) = self.claim(repository, name) {
                return claim;
            }
            ended.await;
        }
    }

    fn claims(&self) -> MutexGuard<'_, HashMap<MirrorKey, CancellationToken>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A mirror that one task runs. Dropping it lets others run it.
struct Claim<'a> {
    runs: &'a MirrorRuns,
    key: MirrorKey,
    cancel: CancellationToken,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.runs.claims().remove(&self.key);
        self.runs.ended.notify_waiters();
        // A request may have come during the run, and other mirrors may have waited for a claim.
        self.runs.wake.now();
    }
}

/// Starts the runs of mirrors that are due. Returns when the next one is due; `None` if a later wake-up decides.
pub async fn start_due(context: &Context) -> Result<Option<Millis>, Error> {
    let now = context.now_ms();
    if !context.config.mirror.enabled {
        return Ok(Some(now + PAUSE_WHEN_OFF_MS));
    }
    for due in mirrors::first_due(&context.store.read().await?, CLAIMS_MAX + 1).await? {
        if due.due_ms > now {
            return Ok(Some(due.due_ms));
        }
        if context.mirrors.claims().contains_key(&(due.repository, due.name.clone())) {
            continue;
        }
        let task_context = context.clone();
        context.tasks.short(leases::inherit(async move {
            if let Some(claim) = task_context.mirrors.claim(due.repository, &due.name) {
                let _ = run_claimed(&task_context, &claim).await; // recorded and logged
            }
        }));
    }
    Ok(None)
}

/// Runs a push mirror now, after a run that is in progress has ended. Returns why it failed.
pub(super) async fn run_now(context: &Context, repository: u64, name: &str) -> Result<(), String> {
    if context.store.is_shared() {
        return request_run(context, repository, name).await;
    }
    let claim = tokio::select! {
        () = context.tasks.stop().cancelled() => return Err(MirrorFailure::Stopped.to_string()),
        claim = context.mirrors.wait_for_claim(repository, name) => claim,
    };
    run_claimed(context, &claim).await
}

/// Requests a run of a push mirror from the node that runs mirrors, and waits for its result. Returns why it failed.
async fn request_run(context: &Context, repository: u64, name: &str) -> Result<(), String> {
    let failed = |error: Error| {
        let internal = MirrorFailure::Internal(error);
        internal.log(repository, name);
        internal.to_string()
    };
    let Some(requested) = schedule::request(context, repository, name).await.map_err(failed)? else { return Ok(()) };
    let result = async {
        loop {
            tokio::time::sleep(RESULT_EVERY).await;
            match schedule::result_of(context, repository, name, &requested).await {
                Ok(Some(result)) => return result,
                Ok(None) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    };
    tokio::select! {
        () = context.tasks.stop().cancelled() => Err(MirrorFailure::Stopped.to_string()),
        result = result => result,
    }
}

/// Runs a mirror and records the result in its row. Returns the recorded error.
async fn run_claimed(context: &Context, claim: &Claim<'_>) -> Result<(), String> {
    let (repository, name) = (claim.key.0, claim.key.1.as_str());
    let requests = schedule::requests(context, repository, name).await.unwrap_or_default();
    let result = Box::pin(share_and_run(context, claim)).await;
    let counts = context.mirrors.counts();
    let (result, counter) = match result {
        Ok(()) => (Ok(()), if name.is_empty() { &counts.pulled } else { &counts.pushed }),
        // The mirror is still due: the next start runs it.
        Err(MirrorFailure::Stopped) => return Err(MirrorFailure::Stopped.to_string()),
        Err(failure) => {
            failure.log(repository, name);
            let counter = if name.is_empty() { &counts.pulls_failed } else { &counts.pushes_failed };
            (Err(failure.to_string()), counter)
        }
    };
    let finished = schedule::finish(context, repository, name, requests, result.as_ref().err()).await;
    counter.fetch_add(1, Ordering::Relaxed);
    if let Err(error) = &finished {
        let error = error as &dyn std::error::Error;
        tracing::error!(repository, error, "the result of a sync was not recorded; it will be repeated");
    }
    // A mirror without a row may have been deleted, or its entry in the list of due mirrors is damaged.
    if !finished.is_ok_and(|exists| exists) {
        tokio::select! {
            () = tokio::time::sleep(PAUSE_UNRECORDED) => {}
            () = claim.cancel.cancelled() => {}
            () = context.tasks.stop().cancelled() => {}
        }
    }
    // A deletion of the repository waits for this.
    context.sweep.now();
    result
}

/// Waits for a share and runs the mirror.
async fn share_and_run(context: &Context, claim: &Claim<'_>) -> Result<(), MirrorFailure> {
    let (repository, name) = (claim.key.0, claim.key.1.as_str());
    let Some(row) = repositories::get(&context.store.read().await?, repository).await? else { return Ok(()) };
    let holder = Holder::Account(row.owner_id);
    let share = tokio::select! {
        () = context.tasks.stop().cancelled() => return Err(MirrorFailure::Stopped),
        () = claim.cancel.cancelled() => return Err(MirrorFailure::Cancelled),
        share = context.work.mirrors.wait(holder, Duration::from_secs(3_600)) => share,
    };
    let _share = share.map_err(|_| MirrorFailure::NoShare)?;
    let run = async {
        match name {
            "" => pull::run(context, repository, &claim.cancel, holder).await,
            name => push::run(context, repository, name, &claim.cancel, holder).await,
        }
    };
    if !context.store.is_shared() {
        return run.await;
    }
    let mut run = std::pin::pin!(run);
    tokio::select! {
        ended = &mut run => return ended,
        () = context.node.unsure(&context.clock) => {
            claim.cancel.cancel();
            // Another node runs mirrors now, and will run this one.
            _ = run.await;
            return Err(MirrorFailure::Stopped);
        }
        () = deleted(context, repository, name) => claim.cancel.cancel(),
    }
    run.await
}

/// Waits until the mirror does not exist any more.
async fn deleted(context: &Context, repository: u64, name: &str) {
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        if matches!(schedule::exists(context, repository, name).await, Ok(false)) {
            return;
        }
    }
}

/// Wakes the task that starts due mirrors.
pub(in crate::service) fn wake(context: &Context) {
    context.mirrors.wake.now();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_mirror_is_claimed_by_one_task_at_a_time() {
        let runs = MirrorRuns::default();
        let claim = runs.claim(1, "").expect("free");
        assert!(runs.claim(1, "").is_none() && runs.is_running(1) && !runs.is_running(2));
        runs.claim(1, "a").expect("another mirror of the same repository");
        runs.cancel(1, "");
        assert!(claim.cancel.is_cancelled());
        let (claimed, ()) = tokio::join!(runs.wait_for_claim(1, ""), async { drop(claim) });
        drop(claimed);
        let all: Vec<_> = (0..CLAIMS_MAX as u64).map(|id| runs.claim(id, "").expect("room")).collect();
        assert!(runs.claim(9_999, "").is_none());
        drop(all);
        assert!(!runs.is_running(1));
    }
}
