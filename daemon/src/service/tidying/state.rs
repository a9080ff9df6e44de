//! The state of tidying that is not in the store.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    id_locks::{IdLock, IdLocks},
    wake::Wake,
};

/// How long a repository is not tidied again after the bucket has failed.
const PAUSE: Duration = Duration::from_secs(20);

/// The part of the state of tidying that is not in the store.
#[derive(Debug, Default)]
pub struct Tidying {
    /// Repositories that are being tidied or pruned, by ID. Taken before the lock of the repository.
    locks: IdLocks,
    /// Repositories whose combined pack could not be stored, and until when they are not tidied.
    paused: Mutex<HashMap<u64, Instant>>,
    /// Wakes the task that removes the files of dropped packs.
    pub removals: Wake,
}

impl Tidying {
    /// Waits until no other task tidies or prunes a repository.
    pub async fn lock(&self, repository: u64) -> IdLock {
        self.locks.lock(repository).await
    }

    /// Does not tidy a repository for some time: git would make the same pack after each push while the bucket fails.
    pub(super) fn pause(&self, repository: u64) {
        self.paused().insert(repository, Instant::now() + PAUSE);
    }

    /// Returns whether a repository is not tidied now.
    pub(super) fn is_paused(&self, repository: u64) -> bool {
        let mut paused = self.paused();
        let is_paused = paused.get(&repository).is_some_and(|until| *until > Instant::now());
        if !is_paused {
            paused.remove(&repository);
        }
        is_paused
    }

    fn paused(&self) -> MutexGuard<'_, HashMap<u64, Instant>> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pause_ends_by_itself() {
        let tidying = Tidying::default();
        assert!(!tidying.is_paused(7));
        tidying.pause(7);
        assert!(tidying.is_paused(7) && !tidying.is_paused(8));
        tokio::time::advance(PAUSE).await;
        assert!(!tidying.is_paused(7) && tidying.paused().is_empty());
    }
}
