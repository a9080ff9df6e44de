//! One lock for each repository: refs move, are recorded and are packed under it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::OwnedMutexGuard;

/// Locks that nobody holds are forgotten when there are more than this.
const KEPT: usize = 256;

/// The right to move refs of one repository.
#[derive(Debug)]
pub struct RepositoryLock {
    _held: OwnedMutexGuard<()>,
}

#[derive(Debug, Default)]
pub(super) struct Locks(Mutex<HashMap<u64, Weak<tokio::sync::Mutex<()>>>>);

impl Locks {
    pub(super) async fn lock(&self, repository: u64) -> RepositoryLock {
        let lock = self.of(repository);
        RepositoryLock { _held: lock.lock_owned().await }
    }

    fn of(&self, repository: u64) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(&repository).and_then(Weak::upgrade) {
            return lock;
        }
        if locks.len() >= KEPT {
            locks.retain(|_, lock| lock.strong_count() > 0);
        }
        let lock = Arc::default();
        locks.insert(repository, Arc::downgrade(&lock));
        lock
    }
}
