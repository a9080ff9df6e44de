//! The search for LFS objects that no file names, as a task: its progress, and how it is started and cancelled.
//!
//! At most one search runs at a time. The figures are in memory: a restart ends a search, and the next one counts
//! again. If several nodes use the store, `service/shared_tasks` copies them to the row of the search.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farrier_proto::store::{LfsSearchProgress, Task};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Millis,
    service::{
        Error,
        tasks::{KEEP_ENDED_MS, TaskResult},
    },
    wake::Wake,
};

/// The error of a search that did not end.
pub(in crate::service) const INTERRUPTED: &str = "the daemon was stopped during the search";

/// The running search, or the last one.
#[derive(Debug, Default)]
pub struct LfsCollection {
    /// Wakes the background task that searches.
    pub wake: Wake,
    last: Mutex<Option<Arc<CollectionTask>>>,
}

/// One search over all repositories that have objects.
#[derive(Debug)]
pub struct CollectionTask {
    /// The time of its start in milliseconds, so that it is the ID of no repository.
    pub id: u64,
    /// Whether the search only counts objects and changes nothing.
    pub dry_run: bool,
    /// Start time of the search.
    pub started_ms: Millis,
    /// The name of the node that does it. Empty if no other node can use the store.
    pub node: String,
    pub(in crate::service) cancel: CancellationToken,
    /// Cancelled when it has ended.
    pub(in crate::service) ended: CancellationToken,
    state: Mutex<CollectionState>,
}

#[derive(Debug, Default)]
struct CollectionState {
    progress: CollectionProgress,
    end: Option<(TaskResult, Millis)>,
}

/// The figures of a search so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectionProgress {
    /// Repositories whose search has ended.
    pub repositories: u64,
    /// Those whose search failed. They lost nothing.
    pub failed: u64,
    /// Objects that no file of their repository names.
    pub unreferenced: u64,
    /// Their size, bytes.
    pub unreferenced_bytes: u64,
    /// Those that their repository lost, or in a dry run would lose now.
    pub removed: u64,
    /// Their size, bytes.
    pub removed_bytes: u64,
}

impl LfsCollection {
    /// Requests a search now. Fails if one was requested already, or is running.
    pub(in crate::service) fn request(&self, dry_run: bool, now: Millis) -> Result<(), Error> {
        let mut last = self.last();
        if running(last.as_ref()).is_some() {
            return Err(Error::Conflict { reason: "the task is running already".into() });
        }
        let task = Arc::new(CollectionTask::new(last.as_deref(), dry_run, now));
        *last = Some(task);
        drop(last);
        self.wake.now();
        Ok(())
    }

    /// Returns the requested search. Without a request, begins a search that removes objects, if one is due. The
    /// wake-up for a request may come again after its search, and a dry run must not be followed by a removal.
    pub fn begin(&self, is_due: bool, now: Millis) -> Option<Arc<CollectionTask>> {
        let mut last = self.last();
        let requested = running(last.as_ref());
        if requested.is_some() || !is_due {
            return requested;
        }
        let task = Arc::new(CollectionTask::new(last.as_deref(), false, now));
        *last = Some(task.clone());
        Some(task)
    }

    /// Tracks a search that this node does for all nodes.
    pub(in crate::service) fn track(&self, task: Arc<CollectionTask>) {
        *self.last() = Some(task);
    }

    /// Returns the running search, or the last one if it ended recently.
    pub(in crate::service) fn recent(&self, now: Millis) -> Option<Arc<CollectionTask>> {
        let last = self.last().clone();
        last.filter(|task| task.end().is_none_or(|(_, at)| now - at <= KEEP_ENDED_MS))
    }

    fn last(&self) -> MutexGuard<'_, Option<Arc<CollectionTask>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn running(last: Option<&Arc<CollectionTask>>) -> Option<Arc<CollectionTask>> {
    last.filter(|task| task.end().is_none()).cloned()
}

impl CollectionTask {
    fn new(previous: Option<&Self>, dry_run: bool, now: Millis) -> Self {
        let least = previous.map_or(1, |task| task.id + 1);
        Self {
            id: u64::try_from(now).unwrap_or_default().max(least),
            dry_run,
            started_ms: now,
            node: String::new(),
            cancel: CancellationToken::new(),
            ended: CancellationToken::new(),
            state: Mutex::default(),
        }
    }

    /// Returns a search as its row describes it.
    pub(in crate::service) fn of_row(row: Task, end: Option<(TaskResult, Millis)>) -> Self {
        let search = row.search.unwrap_or_default();
        let progress = CollectionProgress {
            repositories: search.repositories,
            failed: search.failed,
            unreferenced: search.unreferenced,
            unreferenced_bytes: search.unreferenced_bytes,
            removed: search.removed,
            removed_bytes: search.removed_bytes,
        };
        Self {
            id: row.id,
            dry_run: search.dry_run,
            started_ms: row.started_ms,
            node: row.node,
            cancel: CancellationToken::new(),
            ended: CancellationToken::new(),
            state: Mutex::new(CollectionState { progress, end }),
        }
    }

    /// Returns its figures for its row.
    pub(in crate::service) fn to_row(&self) -> LfsSearchProgress {
        let CollectionProgress { repositories, failed, unreferenced, unreferenced_bytes, removed, removed_bytes } =
            self.progress();
        let dry_run = self.dry_run;
        LfsSearchProgress { dry_run, repositories, failed, unreferenced, unreferenced_bytes, removed, removed_bytes }
    }

    /// Returns its figures, the last ones if it has ended.
    pub fn progress(&self) -> CollectionProgress {
        self.state().progress
    }

    /// Returns its result and when it ended. `None`: it is requested or running.
    pub fn end(&self) -> Option<(TaskResult, Millis)> {
        self.state().end.clone()
    }

    /// Adds the figures of one or more repositories.
    pub(super) fn add(&self, more: CollectionProgress) {
        let progress = &mut self.state().progress;
        progress.repositories += more.repositories;
        progress.failed += more.failed;
        progress.unreferenced += more.unreferenced;
        progress.unreferenced_bytes = progress.unreferenced_bytes.saturating_add(more.unreferenced_bytes);
        progress.removed += more.removed;
        progress.removed_bytes = progress.removed_bytes.saturating_add(more.removed_bytes);
    }

    /// Records the result.
    pub(super) fn record_end(&self, result: TaskResult, now: Millis) {
        self.state().end = Some((result, now));
        self.ended.cancel();
    }

    /// Records that it was interrupted, if it has not ended.
    pub fn record_interruption(&self, now: Millis) {
        if self.end().is_none() {
            self.record_end(TaskResult::Failed(INTERRUPTED.to_owned()), now);
        }
    }

    fn state(&self) -> MutexGuard<'_, CollectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_search_runs_at_a_time_and_its_result_is_kept_for_an_hour() {
        let all = LfsCollection::default();
        assert!(all.recent(0).is_none() && all.begin(false, 0).is_none());
        all.request(true, 5_000).expect("none is running");
        assert!(matches!(all.request(false, 5_000), Err(Error::Conflict { .. })));
        let task = all.begin(true, 5_001).expect("requested");
        assert!(task.dry_run && task.id == 5_000, "the requested one: {task:?}");
        let found = CollectionProgress { repositories: 1, unreferenced: 2, unreferenced_bytes: 30, ..task.progress() };
        task.add(found);
        task.record_end(TaskResult::Done, 6_000);
        let ended = all.recent(6_000 + KEEP_ENDED_MS).expect("kept");
        assert_eq!((ended.progress(), ended.end()), (found, Some((TaskResult::Done, 6_000))));
        assert!(all.recent(6_001 + KEEP_ENDED_MS).is_none());
        assert!(all.begin(false, 6_001).is_none(), "a late wake-up begins nothing");
        // Also if the clock was set back.
        let next = all.begin(true, 4_000).expect("due");
        assert!(!next.dry_run && next.id == 5_001 && next.end().is_none(), "{next:?}");
    }
}
