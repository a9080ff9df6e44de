//! Which copies of repositories are in use, and since when the others are not, so that the least recently used ones can
//! be removed from the disk.
//!
//! Each git process uses its repository. A request also uses the repositories that it has asked for until it ends
//! ([`HeldCopies`]), because it starts processes and reads files in between.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::Git;

tokio::task_local! {
    static HELD: HeldCopies;
}

/// The uses of the copies of all repositories that were used since the start.
#[derive(Debug, Default)]
pub(super) struct Uses(Mutex<HashMap<u64, Use>>);

#[derive(Debug, Default)]
struct Use {
    /// Uses that have not ended.
    running: usize,
    /// When the last use began or ended; `None`: there was none.
    last: Option<Instant>,
    /// Whether the copy is being removed.
    is_removed: bool,
}

impl Uses {
    fn all(&self) -> MutexGuard<'_, HashMap<u64, Use>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A use of a copy. Dropping it ends the use.
#[derive(Debug)]
#[must_use]
pub(super) struct CopyUse {
    git: Git,
    repository: u64,
}

impl Drop for CopyUse {
    fn drop(&mut self) {
        if let Some(of_copy) = self.git.0.uses.all().get_mut(&self.repository) {
            of_copy.running = of_copy.running.saturating_sub(1);
            of_copy.last = Some(Instant::now());
        }
    }
}

/// The removal of a copy that is not in use. Until it is dropped, new uses of the copy see that it is being removed.
#[derive(Debug)]
pub(super) struct CopyRemoval<'a> {
    git: &'a Git,
    repository: u64,
}

impl Drop for CopyRemoval<'_> {
    fn drop(&mut self) {
        if let Some(of_copy) = self.git.0.uses.all().get_mut(&self.repository) {
            of_copy.is_removed = false;
        }
    }
}

/// The copies that a request uses until it ends. Clones share their content.
#[derive(Clone, Debug, Default)]
pub struct HeldCopies(Arc<Mutex<Vec<CopyUse>>>);

impl HeldCopies {
    /// Runs `work`, for which copies are held.
    pub fn run<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        HELD.scope(self.clone(), work)
    }

    /// Returns whether the copy is being removed.
    fn hold(&self, git: &Git, repository: u64) -> bool {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.iter().any(|one| one.repository == repository) {
            held.push(git.begin_use(repository));
        }
        git.is_being_removed(repository)
    }
}

impl Git {
    /// Begins to use the copy of a repository.
    pub(super) fn begin_use(&self, repository: u64) -> CopyUse {
        let mut all = self.0.uses.all();
        let of_copy = all.entry(repository).or_default();
        of_copy.running += 1;
        of_copy.last = Some(Instant::now());
        CopyUse { git: self.clone(), repository }
    }

    /// Uses the copy of a repository until the request of the running task ends; outside of requests, for a moment.
    /// Returns whether the copy is being removed: then the caller waits for its lock, which the removal holds.
    pub fn note_use(&self, repository: u64) -> bool {
        HELD.try_with(|held| held.hold(self, repository)).unwrap_or_else(|_| {
            let _moment = self.begin_use(repository);
            self.is_being_removed(repository)
        })
    }

    pub(super) fn is_being_removed(&self, repository: u64) -> bool {
        self.0.uses.all().get(&repository).is_some_and(|of_copy| of_copy.is_removed)
    }

    /// Returns when a copy was last used since the start: now, if it is in use. `None`: not since the start.
    pub fn last_use(&self, repository: u64) -> Option<Instant> {
        let all = self.0.uses.all();
        let of_copy = all.get(&repository)?;
        if of_copy.running > 0 { Some(Instant::now()) } else { of_copy.last }
    }

    /// Begins to remove a copy, unless it is in use or was used within `idle`. A use that begins later sees that the
    /// copy is being removed.
    pub(super) fn begin_removal(&self, repository: u64, idle: Duration) -> Option<CopyRemoval<'_>> {
        let mut all = self.0.uses.all();
        let of_copy = all.entry(repository).or_default();
        if of_copy.running > 0 || of_copy.last.is_some_and(|last| last.elapsed() < idle) {
            return None;
        }
        of_copy.is_removed = true;
        Some(CopyRemoval { git: self, repository })
    }
}
