//! The copies of repositories: their git directories, whose files of refs are written from the rows of the store.
//!
//! The rows decide. A copy has the version of the rows that were last written to it. Code that reads refs with git or
//! from files calls [`Copies::current`] before, which brings the copy to the version of the rows. If the store still
//! has the changes since the version of the copy, only the refs of these changes are written, otherwise all refs. Each
//! ref gets the value of its current row, not that of a change, so an interrupted update is repeated by the same steps.
//!
//! A copy is trusted only if its file says that it follows this store and was written since the machine was booted:
//! files of refs are not synced. Other copies are written again. If that fails, for example because the disk is full,
//! git lists the refs: a copy whose refs are equal to the rows can be read.
//!
//! If packs are in a bucket, a copy can be created from nothing, and packs that are missing are fetched (`packs`). If
//! other nodes may change the repository as well, a copy also follows its manifest (`others`), and the least recently
//! used copies are removed when all of them are too large (`bound`).
//!
//! Lock order: the lock of the repository, then the guard of the copy. Code that holds the lock of a repository calls
//! [`Copies::current_locked`] for it, never [`Copies::current`].

mod boot;
mod bound;
mod follow;
mod known;
mod others;
mod packs;

use std::{collections::BTreeMap, error::Error as StdError, sync::Arc, time::Duration};

use tokio::{
    sync::OnceCell,
    time::{Instant, timeout_at},
};

pub use self::{bound::CopiesUsage, packs::facts};
use self::{
    bound::Sizes,
    follow::Follow,
    known::{CopyState, Known},
    others::{Fetched, Hidden},
};
use crate::{
    blob::{BlobError, PackObjects},
    git::{EMPTY_REPOSITORY, Git, GitError, RepositoryLock},
    id_locks::IdLocks,
    store::{
        Snapshot, Store, StoreError, identity,
        refs::{self, Ref},
    },
    tasks,
};

/// Longest time that a caller waits until a copy is current. A shorter `git.timeout_secs` counts.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Number of rows of refs to read at a time.
const PAGE: usize = 1_000;

/// Why a copy could not be brought to the version of the rows.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The rows could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The files of the repository could not be read or written.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A pack could not be fetched from the bucket.
    #[error(transparent)]
    Bucket(#[from] BlobError),
    /// Other work on the repository took too long.
    #[error("the files of the repository are still being brought up to date")]
    Late,
}

/// Brings the copies of repositories to the version of the rows. Clones share their state.
#[derive(Clone)]
pub struct Copies {
    store: Store,
    git: Git,
    /// From where packs that are missing are fetched. `None`: packs are only on this disk.
    packs: Option<PackObjects>,
    /// The identity of the store, read at its first use.
    identity: Arc<OnceCell<Vec<u8>>>,
    /// Identifies the boot of the machine.
    boot: String,
    known: Arc<Known>,
    /// Copies with hidden packs.
    hidden: Arc<Hidden>,
    fetched: Arc<Fetched>,
    sizes: Arc<Sizes>,
    /// Held while the files of a copy are written. Unlike the lock of the repository, the writing thread itself holds
    /// it, so it stays locked if a caller stops waiting.
    guards: Arc<IdLocks>,
}

impl Copies {
    /// Returns the copies of the repositories of `git`, which are written from the rows in `store`.
    pub fn new(store: Store, git: Git) -> Self {
        Self {
            store,
            git,
            packs: None,
            identity: Arc::default(),
            boot: boot::id(),
            known: Arc::default(),
            hidden: Arc::default(),
            fetched: Arc::default(),
            sizes: Arc::default(),
            guards: Arc::default(),
        }
    }

    /// Fetches missing packs from a bucket.
    #[must_use]
    pub fn with_packs(self, packs: Option<PackObjects>) -> Self {
        Self { packs, ..self }
    }

    /// Ensures that the copy has at least the version that the rows have now, and returns this version. Must not be
    /// called by a holder of the lock of the repository.
    ///
    /// Does nothing for a repository that has no version yet (returns 0), and for a repository of an earlier release
    /// whose files still decide (returns the version of the row). If nothing changed since the last call, this reads
    /// one row.
    pub async fn current(&self, repository: u64) -> Result<u64, CopyError> {
        if repository == EMPTY_REPOSITORY {
            return Ok(0);
        }
        // Before anything is read about the copy. Either it is not removed from now on, or the lock shows when it was.
        let is_removed = self.has_others() && self.git.note_use(repository);
        let read = self.store.read().await?;
        let Some(row) = refs::version(&read, repository).await? else { return Ok(0) };
        let state = self.state_of(&read, repository, &row).await?;
        drop(read);
        self.note_damage(repository, &row).await?;
        if row.from_disk || (self.known.is(repository, &state) && !is_removed) {
            return Ok(row.version);
        }
        // A copy that an earlier start of the daemon has written is checked without the lock, which pruning may hold
        // for minutes.
        if self.known.is_new(repository)
            && !is_removed
            && self.on_disk(repository).await?.is_some_and(|found| found.has(&state))
            && self.is_complete(repository, &row).await?
        {
            self.known.set_new(repository, state);
            return Ok(row.version);
        }
        let deadline = Instant::now() + WAIT_MAX.min(self.git.timeout());
        let lock = timeout_at(deadline, self.git.lock(repository)).await.map_err(|_| CopyError::Late)?;
        let copies = self.clone();
        // Continues if the caller stops waiting: else a copy that takes long to write would never become current.
        let work = tasks::detached(async move { copies.current_locked(repository, &lock).await });
        timeout_at(deadline, work).await.ok().flatten().unwrap_or(Err(CopyError::Late))
    }

    /// Like [`Copies::current`], for a holder of the lock of the repository.
    pub async fn current_locked(&self, repository: u64, lock: &RepositoryLock) -> Result<u64, CopyError> {
        self.bring_current(repository, Follow::Changes, lock).await
    }

    async fn bring_current(&self, repository: u64, follow: Follow, lock: &RepositoryLock) -> Result<u64, CopyError> {
        let guard = Arc::new(self.guards.lock(repository).await);
        match self.follow(repository, follow, guard.clone(), lock).await {
            Err(CopyError::Git(error)) => {
                // For the next use.
                self.git.remove_old_ref_locks(repository, lock).await;
                // A repository that needs no changes can be read while nothing can be written: after the machine was
                // booted with a full or read-only disk. The packs that other nodes have added are not compared here.
                let state = if self.has_others() { None } else { self.equal_state(repository).await };
                let Some(state) = state else { return Err(error.into()) };
                let error = &error as &dyn StdError;
                tracing::warn!(repository, error, "files of refs could not be written; they are equal to the rows");
                let version = state.version;
                self.known.set(repository, state);
                Ok(version)
            }
            followed => followed,
        }
    }

    /// Returns the state of a copy whose files of refs are exactly the values of the rows. `None` also if that cannot
    /// be determined. The caller holds the guard of the copy.
    async fn equal_state(&self, repository: u64) -> Option<CopyState> {
        match self.compare(repository).await {
            Ok(state) => state,
            Err(error) => {
                let error = &error as &dyn StdError;
                tracing::warn!(repository, error, "files of refs could not be compared with the rows");
                None
            }
        }
    }

    async fn compare(&self, repository: u64) -> Result<Option<CopyState>, CopyError> {
        let snapshot = self.store.read().await?;
        let row = refs::version(&snapshot, repository).await?.filter(|row| !row.from_disk);
        let Some(row) = row else { return Ok(None) };
        let state = self.state_of(&snapshot, repository, &row).await?;
        let (mut tips, mut last) = (BTreeMap::new(), None);
        while let Some(page) = next_page(&snapshot, repository, &mut last).await? {
            tips.extend(page.into_iter().map(|(name, value)| (name, value.tip)));
        }
        drop(snapshot);
        let differing = self.git.differing_refs(repository, &tips).await?;
        Ok(differing.is_empty().then_some(state))
    }

    /// Writes all refs again, also if the copy seems to have the version of the rows. For refs that were changed by
    /// hand.
    pub async fn rewrite_locked(&self, repository: u64, lock: &RepositoryLock) -> Result<u64, CopyError> {
        let guard = Arc::new(self.guards.lock(repository).await);
        self.follow(repository, Follow::All, guard, lock).await
    }

    /// Brings the copy to `version`, which the holder of the lock has committed. An error is only logged: the next
    /// [`Copies::current`] tries again.
    pub async fn note_moved(&self, repository: u64, version: u64, lock: &RepositoryLock) {
        if let Err(error) = self.current_locked(repository, lock).await {
            let error = &error as &dyn StdError;
            tracing::warn!(
                repository,
                version,
                error,
                "files of refs are behind their rows; the next use updates them"
            );
        }
    }

    async fn identity(&self) -> Result<&[u8], StoreError> {
        let read = async {
            let row = identity::get(&self.store.read().await?).await?;
            Ok::<_, StoreError>(row.map(|row| row.id).unwrap_or_default())
        };
        self.identity.get_or_try_init(|| read).await.map(Vec::as_slice)
    }
}

/// Returns the refs after `last`, which becomes the last one of them. `None`: there are no more.
async fn next_page(
    snapshot: &Snapshot,
    repository: u64,
    last: &mut Option<String>,
) -> Result<Option<Vec<(String, Ref)>>, StoreError> {
    let page = refs::page(snapshot, repository, last.as_deref(), PAGE).await?;
    let Some((name, _)) = page.last() else { return Ok(None) };
    *last = Some(name.clone());
    Ok(Some(page))
}

#[cfg(test)]
mod tests;
