//! The repositories in which git failed, so that their files may be damaged.

use std::{
    collections::HashSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::Git;

/// Exit status of git after a fatal error, such as an object that cannot be read.
const FATAL: i32 = 128;
/// Maximum number of repositories that are remembered.
const REPOSITORIES_MAX: usize = 65_536;

/// Repositories in which git failed since they were last taken.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    repositories: Mutex<HashSet<u64>>,
    /// Whether there may be any.
    any: AtomicBool,
}

impl Suspects {
    fn repositories(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.repositories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Git {
    /// Remembers a repository if a git process has ended there with a fatal error.
    pub(super) fn note_exit(&self, repository: u64, status: Option<i32>) {
        if status != Some(FATAL) {
            return;
        }
        let mut repositories = self.0.suspects.repositories();
        if repositories.len() < REPOSITORIES_MAX {
            repositories.insert(repository);
        }
        self.0.suspects.any.store(true, Ordering::Release);
    }

    /// Returns whether git failed in a repository since the last call for it.
    pub fn take_suspect(&self, repository: u64) -> bool {
        if !self.0.suspects.any.load(Ordering::Acquire) {
            return false;
        }
        let mut repositories = self.0.suspects.repositories();
        let was_suspect = repositories.remove(&repository);
        self.0.suspects.any.store(!repositories.is_empty(), Ordering::Release);
        was_suspect
    }
}
