//! Migrations that run at the moment, and for a while those that have ended: how far they are, and the
//! way to end them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use farrier_proto::store::Repository;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use crate::clock::Millis;

/// So long is remembered what has become of a migration,
const KEPT: Duration = Duration::from_hours(1);
/// and of so many.
const KEPT_MAX: usize = 200;

/// The migrations of this daemon. How far they are is in memory only: a restart ends them all.
#[derive(Debug)]
pub struct Migrations {
    known: Mutex<Known>,
    /// Bounds how many fetch at once; the others wait.
    pub(super) slots: Semaphore,
}

#[derive(Debug, Default)]
struct Known {
    running: HashMap<u64, Arc<Running>>,
    /// The oldest first.
    ended: VecDeque<Arc<Running>>,
}

/// One migration, by the number of its repository.
#[derive(Debug)]
pub struct Running {
    /// The repository as it was when it began.
    pub row: Repository,
    /// `owner/name`, as it was then.
    pub path: String,
    /// When it began.
    pub began_ms: Millis,
    pub(in crate::service) cancel: CancellationToken,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    progress: Progress,
    end: Option<(Outcome, Millis)>,
}

/// What became of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The repository is there.
    Done,
    /// Why it is not, in a sentence.
    Failed(String),
    /// Somebody did not want it any more.
    Cancelled,
}

impl Migrations {
    /// None yet; at most `max_running` will fetch at once.
    pub fn new(max_running: usize) -> Self {
        Self { known: Mutex::default(), slots: Semaphore::new(max_running) }
    }

    /// How far the migration of a repository is; `None`: it does not run.
    pub fn progress(&self, repository: u64) -> Option<Progress> {
        let running = self.known().running.get(&repository).cloned()?;
        Some(running.progress())
    }

    /// Ends the migration of a repository if there is one. It cleans up by itself.
    pub fn cancel(&self, repository: u64) {
        if let Some(running) = self.known().running.get(&repository) {
            running.cancel.cancel();
        }
    }

    /// Those that run and those that ended not long before `now`, the youngest first.
    pub(in crate::service) fn all(&self, now: Millis) -> Vec<Arc<Running>> {
        let mut known = self.known();
        known.forget(now);
        let mut all: Vec<_> = known.running.values().chain(&known.ended).cloned().collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.row.id));
        all
    }

    /// The one of a repository, if it is known.
    pub(in crate::service) fn of(&self, repository: u64, now: Millis) -> Option<Arc<Running>> {
        self.all(now).into_iter().find(|one| one.row.id == repository)
    }

    /// Notes that a migration begins; `None`: its owner has `most` of them.
    pub(super) fn begin(&self, row: &Repository, path: String, now: Millis, most: usize) -> Option<Arc<Running>> {
        let mut known = self.known();
        if known.running.values().filter(|running| running.row.owner_id == row.owner_id).count() >= most {
            return None;
        }
        let running = Arc::new(Running {
            row: row.clone(),
            path,
            began_ms: now,
            cancel: CancellationToken::new(),
            state: Mutex::default(),
        });
        known.running.insert(row.id, running.clone());
        Some(running)
    }

    /// Forgets one that has not begun after all.
    pub(super) fn discard(&self, repository: u64) {
        self.known().running.remove(&repository);
    }

    /// Notes what has become of one.
    pub(super) fn end(&self, repository: u64, outcome: Outcome, now: Millis) {
        let mut known = self.known();
        if let Some(ended) = known.running.remove(&repository) {
            let mut state = ended.state();
            state.progress.leave(now);
            state.end = Some((outcome, now));
            drop(state);
            known.ended.push_back(ended);
        }
        known.forget(now);
    }

    pub(super) fn is_running(&self, repository: u64) -> bool {
        self.known().running.contains_key(&repository)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn forget(&mut self, now: Millis) {
        let kept = Millis::try_from(KEPT.as_millis()).unwrap_or(Millis::MAX);
        let is_old = |ended: &Arc<Running>| ended.end().is_none_or(|(_, at)| now - at > kept);
        while self.ended.len() > KEPT_MAX || self.ended.front().is_some_and(is_old) {
            self.ended.pop_front();
        }
    }
}

impl Running {
    /// How far it is, or was.
    pub fn progress(&self) -> Progress {
        self.state().progress.clone()
    }

    /// What has become of it, and when; `None` while it runs.
    pub fn end(&self) -> Option<(Outcome, Millis)> {
        self.state().end.clone()
    }

    /// Something else is being done now.
    pub(super) fn enter(&self, phase: &str, now: Millis) {
        self.state().progress.enter(phase, now);
    }

    /// Takes in a line of git and the bytes on disk.
    pub(super) fn hear(&self, line: &str, size: u64, now: Millis) {
        self.state().progress.hear(line, size, now);
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
        all.begin(&row, format!("a/{id}"), 5, usize::MAX).expect("room");
    }

    #[test]
    fn what_has_ended_is_remembered_for_an_hour_and_not_without_bound() {
        let all = Migrations::new(1);
        let ids = |now| all.all(now).iter().map(|one| one.row.id).collect::<Vec<_>>();
        begin(&all, 1);
        begin(&all, 2);
        all.end(1, Outcome::Cancelled, 10);
        assert_eq!((ids(10), all.is_running(1)), (vec![2, 1], false));
        assert_eq!(all.of(1, 10).and_then(|one| one.end()), Some((Outcome::Cancelled, 10)));
        assert_eq!((ids(3_600_010).len(), ids(3_600_011)), (2, vec![2]), "one that runs is not forgotten");
        for id in 3..300 {
            begin(&all, id);
            all.end(id, Outcome::Done, 4_000_000);
        }
        let kept = ids(4_000_000);
        assert_eq!((kept.len(), kept[0], kept.contains(&3)), (KEPT_MAX + 1, 299, false));
    }
}
