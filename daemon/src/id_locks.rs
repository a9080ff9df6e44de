//! One lock for each ID, such as that of a repository.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::OwnedMutexGuard;

/// Unused locks are removed when the map has more entries than this.
const UNUSED_MAX: usize = 256;

/// The lock of one ID. Dropping it releases the lock.
#[derive(Debug)]
pub struct IdLock {
    _held: OwnedMutexGuard<()>,
}

/// The locks of the IDs of one kind.
#[derive(Debug, Default)]
pub struct IdLocks(Mutex<HashMap<u64, Weak<tokio::sync::Mutex<()>>>>);

impl IdLocks {
    /// Waits until the lock of `id` is free and takes it.
    pub async fn lock(&self, id: u64) -> IdLock {
        let lock = self.of(id);
        IdLock { _held: lock.lock_owned().await }
    }

    fn of(&self, id: u64) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(&id).and_then(Weak::upgrade) {
            return lock;
        }
        if locks.len() >= UNUSED_MAX {
            locks.retain(|_, lock| lock.strong_count() > 0);
        }
        let lock = Arc::default();
        locks.insert(id, Arc::downgrade(&lock));
        lock
    }
}
