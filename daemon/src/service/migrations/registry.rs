//! Tracks running and recently ended migrations: their progress, and how to cancel them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use farrier_proto::store::{Repository, Task};
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use crate::{
    clock::Millis,
    service::tasks::{KEEP_ENDED_MS, TaskResult},
    show::LiveMigration,
};

/// Maximum number of ended migrations that are remembered.
const ENDED_MAX: usize = 200;

/// The migrations of this daemon. Their progress is only in memory, since a restart ends all of them.
#[derive(Debug, Default)]
pub struct Migrations {
    tasks: Mutex<TaskLists>,
}

#[derive(Debug, Default)]
struct TaskLists {
    running: HashMap<u64, Arc<MigrationTask>>,
    /// Oldest first.
    ended: VecDeque<Arc<MigrationTask>>,
}

/// One migration, identified by the id of its repository.
#[derive(Debug)]
pub struct MigrationTask {
    /// The row of the repository at the start of the migration.
    pub row: Repository,
    /// `owner/name` at the start of the migration.
    pub path: String,
    /// Start time of the migration.
    pub started_ms: Millis,
    /// The name of the node that does it. Empty if no other node can use the store.
    pub node: String,
    pub(in crate::service) cancel: CancellationToken,
    /// Cancelled when it has ended.
    pub(in crate::service) ended: CancellationToken,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    progress: Progress,
    end: Option<(TaskResult, Millis)>,
}

impl Migrations {
    /// Returns the progress of a repository's migration. `None`: it is not running.
    pub fn progress(&self, repository: u64) -> Option<Progress> {
        let running = self.tasks().running.get(&repository).cloned()?;
        Some(running.progress())
    }

    /// Returns the progress of a repository's migration for responses and payloads. Empty if none is running.
    pub fn live(&self, repository: &Repository) -> LiveMigration {
        // Most repositories were not imported, so the lock is not needed for them.
        let running = repository.migration.as_ref().and_then(|_| self.progress(repository.id));
        let Progress { phase, objects, bytes, .. } = running.unwrap_or_default();
        LiveMigration { phase, objects, bytes }
    }

    /// Cancels the migration of a repository, if one is running. It cleans up by itself.
    pub fn cancel(&self, repository: u64) {
        if let Some(running) = self.tasks().running.get(&repository) {
            running.cancel.cancel();
        }
    }

    /// Returns running migrations and those that ended recently, newest first.
    pub(in crate::service) fn all(&self, now: Millis) -> Vec<Arc<MigrationTask>> {
        let mut tasks = self.tasks();
        tasks.forget(now);
        let mut all: Vec<_> = tasks.running.values().chain(&tasks.ended).cloned().collect();
        all.sort_by_key(|task| std::cmp::Reverse(task.row.id));
        all
    }

    /// Registers a migration that `node` does. Returns `None` if its owner already has `most` of them.
    pub(super) fn begin(
        &self,
        row: &Repository,
        (path, node): (String, String),
        now: Millis,
        most: usize,
    ) -> Option<Arc<MigrationTask>> {
        let mut tasks = self.tasks();
        if tasks.running.values().filter(|running| running.row.owner_id == row.owner_id).count() >= most {
            return None;
        }
        let running = Arc::new(MigrationTask {
            row: row.clone(),
            path,
            started_ms: now,
            node,
            cancel: CancellationToken::new(),
            ended: CancellationToken::new(),
            state: Mutex::default(),
        });
        tasks.running.insert(row.id, running.clone());
        Some(running)
    }

    /// Removes a migration that was registered but could not start.
    pub(super) fn discard(&self, repository: u64) {
        self.tasks().running.remove(&repository);
    }

    /// Records the result of a migration.
    pub(super) fn end(&self, repository: u64, result: TaskResult, now: Millis) {
        let mut tasks = self.tasks();
        if let Some(ended) = tasks.running.remove(&repository) {
            let mut state = ended.state();
            state.progress.leave(now);
            state.end = Some((result, now));
            drop(state);
            ended.ended.cancel();
            tasks.ended.push_back(ended);
        }
        tasks.forget(now);
    }

    pub(super) fn is_running(&self, repository: u64) -> bool {
        self.tasks().running.contains_key(&repository)
    }

    fn tasks(&self) -> MutexGuard<'_, TaskLists> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskLists {
    fn forget(&mut self, now: Millis) {
        let is_old = |ended: &Arc<MigrationTask>| ended.end().is_none_or(|(_, at)| now - at > KEEP_ENDED_MS);
        while self.ended.len() > ENDED_MAX || self.ended.front().is_some_and(is_old) {
            self.ended.pop_front();
        }
    }
}

impl MigrationTask {
    /// Returns a migration of another node as its row describes it.
    pub(in crate::service) fn elsewhere(row: Task, end: Option<(TaskResult, Millis)>) -> Self {
        let Task { repository, path, started_ms, node, import, .. } = row;
        let progress = import.map(Progress::of_row).unwrap_or_default();
        Self {
            row: repository.unwrap_or_default(),
            path,
            started_ms,
            node,
            cancel: CancellationToken::new(),
            ended: CancellationToken::new(),
            state: Mutex::new(State { progress, end }),
        }
    }

    /// Returns its progress, the last one if it has ended.
    pub fn progress(&self) -> Progress {
        self.state().progress.clone()
    }

    /// Returns its result and when it ended. `None`: it is running.
    pub fn end(&self) -> Option<(TaskResult, Millis)> {
        self.state().end.clone()
    }

    /// Begins a phase.
    pub(super) fn enter(&self, phase: &str, now: Millis) {
        self.state().progress.enter(phase, now);
    }

    /// Processes a line of git's output and the size on disk.
    pub(super) fn update(&self, line: &str, size: u64, now: Millis) {
        self.state().progress.update(line, size, now);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(all: &Migrations, id: u64) {
        let row = Repository { id, owner_id: 1, ..Repository::default() };
        all.begin(&row, (format!("a/{id}"), String::new()), 5, usize::MAX).expect("room");
    }

    #[test]
    fn ended_migrations_are_kept_for_an_hour_up_to_a_limit() {
        let all = Migrations::default();
        let ids = |now| all.all(now).iter().map(|task| task.row.id).collect::<Vec<_>>();
        begin(&all, 1);
        begin(&all, 2);
        all.end(1, TaskResult::Cancelled, 10);
        assert_eq!((ids(10), all.is_running(1)), (vec![2, 1], false));
        let of_first = all.all(10).into_iter().find(|task| task.row.id == 1);
        assert_eq!(of_first.and_then(|task| task.end()), Some((TaskResult::Cancelled, 10)));
        assert_eq!((ids(3_600_010).len(), ids(3_600_011)), (2, vec![2]), "a running migration is kept");
        for id in 3..300 {
            begin(&all, id);
            all.end(id, TaskResult::Done, 4_000_000);
        }
        let listed = ids(4_000_000);
        assert_eq!((listed.len(), listed[0], listed.contains(&3)), (ENDED_MAX + 1, 299, false));
    }
}
