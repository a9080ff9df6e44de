//! One lock per repository. Holders may update refs, record ref updates and pack objects.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::OwnedMutexGuard;

/// Unused locks are removed when the map has more entries than this.
const UNUSED_MAX: usize = 256;

/// The lock of one repository. Dropping it releases the lock.
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
        if locks.len() >= UNUSED_MAX {
            locks.retain(|_, lock| lock.strong_count() > 0);
        }
        let lock = Arc::default();
        locks.insert(repository, Arc::downgrade(&lock));
        lock
    }
}
