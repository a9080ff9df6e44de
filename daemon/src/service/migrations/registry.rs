//! Migrations that run at the moment: how far they are, and the way to end them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;

/// The migrations of this daemon. How far they are is in memory only: a restart ends them all.
#[derive(Debug)]
pub struct Migrations {
    running: Mutex<HashMap<u64, Arc<Running>>>,
    /// Bounds how many fetch at once; the others wait.
    pub(super) slots: Semaphore,
}

/// One migration.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// Whose repository it will be.
    owner: u64,
    pub(super) cancel: CancellationToken,
    progress: Mutex<Progress>,
}

impl Migrations {
    /// None yet; at most `max_running` will fetch at once.
    pub fn new(max_running: usize) -> Self {
        Self { running: Mutex::default(), slots: Semaphore::new(max_running) }
    }

    /// How far the migration of a repository is; `None`: it does not run.
    pub fn progress(&self, repository: u64) -> Option<Progress> {
        let running = self.all().get(&repository).cloned()?;
        let progress = running.progress().clone();
        Some(progress)
    }

    /// Ends the migration of a repository if there is one. It cleans up by itself.
    pub fn cancel(&self, repository: u64) {
        if let Some(running) = self.all().get(&repository) {
            running.cancel.cancel();
        }
    }

    /// Notes that a migration of a repository begins; `None`: its owner has `most` of them.
    pub(super) fn begin(&self, repository: u64, owner: u64, most: usize) -> Option<Arc<Running>> {
        let mut all = self.all();
        if all.values().filter(|running| running.owner == owner).count() >= most {
            return None;
        }
        let running = Arc::new(Running { owner, ..Running::default() });
        all.insert(repository, running.clone());
        Some(running)
    }

    pub(super) fn end(&self, repository: u64) {
        self.all().remove(&repository);
    }

    pub(super) fn is_running(&self, repository: u64) -> bool {
        self.all().contains_key(&repository)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u64, Arc<Running>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
