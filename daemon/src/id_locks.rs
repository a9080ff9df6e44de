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

    /// Takes the lock of `id` if nobody holds it or waits for it.
    pub fn try_lock(&self, id: u64) -> Option<IdLock> {
        Some(IdLock { _held: self.of(id).try_lock_owned().ok()? })
    }

    /// Returns whether somebody holds the lock of `id`.
    pub fn is_locked(&self, id: u64) -> bool {
        let locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = locks.get(&id).and_then(Weak::upgrade);
        drop(locks);
        lock.is_some_and(|lock| lock.try_lock().is_err())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lock_is_held_until_it_is_dropped() {
        let locks = IdLocks::default();
        assert!(!locks.is_locked(1));
        let lock = locks.lock(1).await;
        assert!(locks.is_locked(1) && !locks.is_locked(2));
        assert!(locks.try_lock(1).is_none() && locks.try_lock(2).is_some());
        drop(lock);
        assert!(!locks.is_locked(1));
        drop(locks.lock(1).await);
    }
}
