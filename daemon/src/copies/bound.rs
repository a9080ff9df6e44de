//! Keeps the copies below `git.copies_max_bytes`: the least recently used ones are removed from the disk, and created
//! again from the bucket when they are used next.
//!
//! Acknowledged data that this could remove: objects that are only in the directory. So a copy is removed only if,
//! read under the lock of its repository, all packs of the manifest are in the bucket or in rows, no change of this
//! start has put a pack into it whose row is still to come, it has no loose objects, and no import fills it. The
//! other files were written from the rows or are made from the packs. Packs that the manifest does not name were
//! dropped by another node or belong to changes that failed (`others`).
//!
//! A copy in use is not removed: a process runs in it, a request that uses it has not ended, its lock is held, or one
//! of these was so within [`IDLE`]. A reader that comes while it is removed waits for its lock and gets a new copy.

use std::{
    cmp::Reverse,
    collections::HashMap,
    error::Error as StdError,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use farrier_proto::store::MigrationState;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use super::{Copies, CopyError};
use crate::{
    git::{CopySize, RepositoryLock},
    store::{
        packs::{self, bucket},
        refs, repositories,
    },
    tasks,
};

/// How long a copy is kept after its last use: work that is no request has pauses between two processes. A shorter
/// `git.timeout_secs` counts.
const IDLE: Duration = Duration::from_secs(60);
/// Time after which a copy is measured again that was not used meanwhile.
const MEASURED_FOR: Duration = Duration::from_secs(86_400);
/// The part of the bound, in percent, to which copies are removed, so that not each new one removes another.
const REDUCED_TO_PERCENT: u64 = 90;

/// The sizes of the copies of this node.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    measured: Mutex<HashMap<u64, Measured>>,
    max_bytes: AtomicU64,
    removed: AtomicU64,
    /// The sum may exceed the bound.
    exceeded: Notify,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    bytes: u64,
    at: Instant,
    changed: SystemTime,
}

/// When a copy was last used. A copy that was not used since the start has the time of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LastUse {
    BeforeStart(SystemTime),
    At(Instant),
}

/// What the copies of this node need on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiesUsage {
    /// The sum of their sizes when they were last measured.
    pub bytes: u64,
    /// The bound. 0: there is none, or it is not known yet.
    pub max_bytes: u64,
    /// Copies that were removed since the start.
    pub removed: u64,
}

impl Sizes {
    fn measured(&self) -> MutexGuard<'_, HashMap<u64, Measured>> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sum(&self) -> u64 {
        self.measured().values().map(|copy| copy.bytes).sum()
    }

    /// Adds bytes that were fetched.
    pub(super) fn add(&self, repository: u64, bytes: u64) {
        let new = || Measured { bytes: 0, at: Instant::now(), changed: SystemTime::UNIX_EPOCH };
        self.measured().entry(repository).or_insert_with(new).bytes += bytes;
        let max_bytes = self.max_bytes.load(Ordering::Relaxed);
        if max_bytes > 0 && self.sum() > max_bytes {
            self.exceeded.notify_one();
        }
    }
}

impl Copies {
    /// Returns what the copies need on the disk, as far as it was measured.
    pub fn usage(&self) -> CopiesUsage {
        let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
        CopiesUsage {
            bytes: self.sizes.sum(),
            max_bytes: load(&self.sizes.max_bytes),
            removed: load(&self.sizes.removed),
        }
    }

    /// Waits until the copies may exceed the bound, at most a minute.
    pub async fn wait_until_exceeded(&self) {
        _ = timeout(self.idle(), self.sizes.exceeded.notified()).await;
    }

    /// Removes the least recently used copies if all together have more than `max_bytes`. Does nothing unless other
    /// nodes may use the same packs. Each call tries each copy at most once.
    pub async fn reduce(&self, max_bytes: u64) -> Result<(), CopyError> {
        if !self.has_others() {
            return Ok(());
        }
        self.sizes.max_bytes.store(max_bytes, Ordering::Relaxed);
        self.measure().await?;
        let mut sum = self.sizes.sum();
        if sum <= max_bytes {
            return Ok(());
        }
        let target = max_bytes / 100 * REDUCED_TO_PERCENT;
        let mut by_use: Vec<(LastUse, Reverse<u64>, u64)> = self.sizes.measured().iter().map(self.by_use()).collect();
        by_use.sort_unstable();
        for (_, Reverse(bytes), repository) in by_use {
            if sum <= target {
                break;
            }
            let copies = self.clone();
            // Continues if the caller is stopped: the lock is held until the directory was moved away.
            let removed = tasks::detached(async move { copies.remove_unless_used(repository).await });
            match removed.await.unwrap_or(Ok(false)) {
                Ok(true) => sum = sum.saturating_sub(bytes),
                Ok(false) => {}
                Err(error) => {
                    let error = &error as &dyn StdError;
                    tracing::warn!(repository, error, "a copy was not removed and will be tried again in a minute");
                }
            }
        }
        Ok(())
    }

    fn by_use(&self) -> impl Fn((&u64, &Measured)) -> (LastUse, Reverse<u64>, u64) {
        |(repository, copy)| {
            let last = self.git.last_use(*repository);
            (last.map_or(LastUse::BeforeStart(copy.changed), LastUse::At), Reverse(copy.bytes), *repository)
        }
    }

    /// Measures the copies that may have changed since they were measured.
    async fn measure(&self) -> Result<(), CopyError> {
        let found = self.git.repositories_on_disk().await?;
        let before = self.sizes.measured().clone();
        let mut after = HashMap::with_capacity(found.len());
        for repository in found {
            let known = before.get(&repository).copied().filter(|copy| {
                let is_unused = self.git.last_use(repository).is_none_or(|used| used < copy.at);
                is_unused && copy.at.elapsed() < MEASURED_FOR
            });
            // What changes while it is measured is found by the next call.
            let at = Instant::now();
            if let Some(copy) = known {
                after.insert(repository, copy);
                continue;
            }
            match self.git.measure_copy(repository).await {
                Ok(size) => {
                    let measured = size.map(|CopySize { bytes, changed }| Measured { bytes, at, changed });
                    after.extend(measured.map(|copy| (repository, copy)));
                }
                Err(error) => {
                    let error = &error as &dyn StdError;
                    tracing::warn!(repository, error, "the size of a copy was not measured");
                }
            }
        }
        *self.sizes.measured() = after;
        Ok(())
    }

    /// Removes the copy of a repository from the disk. Returns whether it was removed.
    async fn remove_unless_used(&self, repository: u64) -> Result<bool, CopyError> {
        // Looked at again below. Without this, copies in use would be compared with the manifest at their next use.
        if self.git.last_use(repository).is_some_and(|last| last.elapsed() < self.idle()) {
            return Ok(false);
        }
        let Some(lock) = self.git.try_lock(repository) else { return Ok(false) };
        if !self.can_be_created_again(repository, &lock).await? {
            return Ok(false);
        }
        // Before the directory disappears, so that the next user compares it with the manifest.
        self.known.forget(repository);
        let Some(moved) = self.git.move_copy_away(repository, self.idle(), &lock).await? else { return Ok(false) };
        drop(lock);
        self.sizes.measured().remove(&repository);
        self.sizes.removed.fetch_add(1, Ordering::Relaxed);
        tracing::info!(repository, "removed the copy of a repository that was not used lately");
        self.git.remove_moved_copy(moved).await?;
        Ok(true)
    }

    /// Returns whether the bucket and the rows have everything of a repository.
    async fn can_be_created_again(&self, repository: u64, _lock: &RepositoryLock) -> Result<bool, CopyError> {
        let read = self.store.read().await?;
        let Some(row) = repositories::get(&read, repository).await? else { return Ok(false) };
        if row.migration.is_some_and(|migration| migration.state() != MigrationState::Done) {
            return Ok(false);
        }
        let version = refs::version(&read, repository).await?;
        if !version.is_some_and(|version| version.has_manifest && !version.from_disk) {
            return Ok(false);
        }
        let named = packs::all(&read, repository).await?;
        drop(read);
        self.git.forget_installed(repository, named.keys());
        Ok(bucket::are_all(&named)
            && self.git.installed_packs(repository).is_empty()
            && !self.git.has_loose_objects(repository).await?)
    }

    fn idle(&self) -> Duration {
        IDLE.min(self.git.timeout())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_were_not_used_since_the_start_come_first_by_the_time_of_their_files() {
        let old = LastUse::BeforeStart(SystemTime::UNIX_EPOCH);
        let newer = LastUse::BeforeStart(SystemTime::UNIX_EPOCH + Duration::from_secs(1));
        assert!(old < newer && newer < LastUse::At(Instant::now()));
    }
}
