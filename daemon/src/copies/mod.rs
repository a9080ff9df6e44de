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
//! If packs are in a bucket, a copy can be created from nothing, and packs that are missing are fetched (`packs`).
//!
//! Lock order: the lock of the repository, then the guard of the copy. Code that holds the lock of a repository calls
//! [`Copies::current_locked`] for it, never [`Copies::current`].

mod boot;
mod known;
mod packs;

use std::{collections::BTreeMap, error::Error as StdError, io, sync::Arc, time::Duration};

use tokio::{
    sync::OnceCell,
    time::{Instant, timeout_at},
};

use self::known::Known;
pub use self::packs::facts;
use crate::{
    blob::{BlobError, PackObjects},
    git::{CopyFile, EMPTY_REPOSITORY, Git, GitError, RefFile, RepositoryLock},
    id_locks::IdLocks,
    store::{
        Snapshot, Store, StoreError, identity,
        refs::{
            self, Ref,
            changes::{self, CatchUp},
        },
    },
    tasks,
};

/// Longest time that a caller waits until a copy is current.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Maximum number of refs that are written one by one. For more refs, writing the list of all refs is faster.
const STEPS_MAX: usize = 1_000;
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
    #[error("the files of the repository were not brought up to date within {} seconds", WAIT_MAX.as_secs())]
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
    /// Held while the files of a copy are written. Unlike the lock of the repository, the writing thread itself holds
    /// it, so it stays locked if a caller stops waiting.
    guards: Arc<IdLocks>,
}

impl Copies {
    /// Returns the copies of the repositories of `git`, which are written from the rows in `store`.
    pub fn new(store: Store, git: Git) -> Self {
        let (identity, known) = (Arc::default(), Arc::default());
        Self { store, git, packs: None, identity, boot: boot::id(), known, guards: Arc::default() }
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
        let row = refs::version(&self.store.read().await?, repository).await?;
        let Some(row) = row else { return Ok(0) };
        self.note_damage(repository, &row).await?;
        if row.from_disk || self.known.get(repository) == Some(row.version) {
            return Ok(row.version);
        }
        // A copy that an earlier start of the daemon has written is checked without the lock, which pruning may hold
        // for minutes.
        if self.known.is_new(repository)
            && self.version_on_disk(repository).await? == Some(row.version)
            && self.is_complete(repository, &row).await?
        {
            self.known.set_new(repository, row.version);
            return Ok(row.version);
        }
        let deadline = Instant::now() + WAIT_MAX;
        let lock = timeout_at(deadline, self.git.lock(repository)).await.map_err(|_| CopyError::Late)?;
        let copies = self.clone();
        // Continues if the caller stops waiting: else a copy that takes long to write would never become current.
        let work = tasks::detached(async move { copies.current_locked(repository, &lock).await });
        timeout_at(deadline, work).await.ok().flatten().unwrap_or(Err(CopyError::Late))
    }

    /// Like [`Copies::current`], for a holder of the lock of the repository.
    pub async fn current_locked(&self, repository: u64, lock: &RepositoryLock) -> Result<u64, CopyError> {
        let guard = Arc::new(self.guards.lock(repository).await);
        match self.follow(repository, guard.clone(), lock).await {
            // A repository that needs no changes can be read while nothing can be written: after the machine was booted
            // with a full or read-only disk.
            Err(CopyError::Git(error)) => {
                // For the next use.
                self.git.remove_old_ref_locks(repository, lock).await;
                let Some(version) = self.equal_version(repository).await else { return Err(error.into()) };
                let error = &error as &dyn StdError;
                tracing::warn!(repository, error, "files of refs could not be written; they are equal to the rows");
                self.known.set(repository, version);
                Ok(version)
            }
            followed => followed,
        }
    }

    /// Writes what changed since the version of the copy.
    async fn follow(
        &self,
        repository: u64,
        guard: Arc<RepositoryLock>,
        lock: &RepositoryLock,
    ) -> Result<u64, CopyError> {
        if self.known.get(repository).is_none() {
            self.complete_packs(repository, lock).await?;
        }
        let snapshot = self.store.read().await?;
        let Some(row) = refs::version(&snapshot, repository).await? else { return Ok(0) };
        if row.from_disk {
            return Ok(row.version);
        }
        let on_disk = match self.known.get(repository) {
            Some(version) => Some(version),
            None => self.version_on_disk(repository).await?,
        };
        let Some(on_disk) = on_disk else {
            return self.write_all(repository, row.version, snapshot, guard, lock).await;
        };
        if on_disk == row.version {
            self.known.set(repository, on_disk);
            return Ok(on_disk);
        }
        let names = match changes::since(&snapshot, repository, on_disk, STEPS_MAX).await? {
            CatchUp::Steps { names, .. } => names,
            CatchUp::Everything { .. } => {
                return self.write_all(repository, row.version, snapshot, guard, lock).await;
            }
        };
        let files = refs::many(&snapshot, repository, &names).await?.into_iter().map(file).collect();
        match self.git.write_refs(repository, files, guard.clone()).await {
            Ok(()) => {
                drop(snapshot);
                self.record_version(repository, row.version, guard).await?;
                Ok(row.version)
            }
            // More files cannot be written either.
            Err(error) if is_unwritable(&error) => Err(error.into()),
            Err(error) => {
                // Somebody has changed the files by hand.
                tracing::warn!(
                    repository,
                    error = &error as &dyn StdError,
                    "files of refs could not be written one by one; all are written again"
                );
                self.write_all(repository, row.version, snapshot, guard, lock).await
            }
        }
    }

    /// Returns the version of the rows if git reads exactly their values from the files. `None` also if that cannot be
    /// determined. The caller holds the guard of the copy.
    async fn equal_version(&self, repository: u64) -> Option<u64> {
        match self.compare(repository).await {
            Ok(version) => version,
            Err(error) => {
                let error = &error as &dyn StdError;
                tracing::warn!(repository, error, "files of refs could not be compared with the rows");
                None
            }
        }
    }

    async fn compare(&self, repository: u64) -> Result<Option<u64>, CopyError> {
        let snapshot = self.store.read().await?;
        let row = refs::version(&snapshot, repository).await?.filter(|row| !row.from_disk);
        let Some(row) = row else { return Ok(None) };
        let (mut tips, mut last) = (BTreeMap::new(), None::<String>);
        loop {
            let page = refs::page(&snapshot, repository, last.as_deref(), PAGE).await?;
            let Some((name, _)) = page.last() else { break };
            last = Some(name.clone());
            tips.extend(page.into_iter().map(|(name, value)| (name, value.tip)));
        }
        drop(snapshot);
        let differing = self.git.differing_refs(repository, &tips).await?;
        Ok(differing.is_empty().then_some(row.version))
    }

    /// Writes all refs again, also if the copy seems to have the version of the rows. For refs that were changed by
    /// hand.
    pub async fn rewrite_locked(&self, repository: u64, lock: &RepositoryLock) -> Result<u64, CopyError> {
        let guard = Arc::new(self.guards.lock(repository).await);
        let snapshot = self.store.read().await?;
        match refs::version(&snapshot, repository).await? {
            Some(row) if !row.from_disk => self.write_all(repository, row.version, snapshot, guard, lock).await,
            row => Ok(row.map_or(0, |row| row.version)),
        }
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

    /// Replaces all files of refs by the rows of `snapshot`, which have `version`.
    async fn write_all(
        &self,
        repository: u64,
        version: u64,
        snapshot: Snapshot,
        guard: Arc<RepositoryLock>,
        _lock: &RepositoryLock,
    ) -> Result<u64, CopyError> {
        // After an interruption, the files may have the values of no single version.
        self.known.forget(repository);
        let mut rewrite = self.git.begin_rewrite(repository, guard.clone()).await?;
        let mut last: Option<String> = None;
        loop {
            let page = refs::page(&snapshot, repository, last.as_deref(), PAGE).await?;
            let Some((name, _)) = page.last() else { break };
            last = Some(name.clone());
            let files = page.into_iter().map(|(name, value)| file((name, Some(value)))).collect();
            rewrite = rewrite.add(files).await?;
        }
        drop(snapshot);
        rewrite.finish().await?;
        self.record_version(repository, version, guard).await?;
        Ok(version)
    }

    /// Records that the files of refs have `version`. If the file `farrier-copy` cannot be written, the files of refs
    /// are written again after the next start of the daemon.
    async fn record_version(&self, repository: u64, version: u64, guard: Arc<RepositoryLock>) -> Result<(), CopyError> {
        let copy = CopyFile { store: self.identity().await?.to_vec(), version, boot: self.boot.clone() };
        if let Err(error) = self.git.write_copy(repository, &copy, guard).await {
            let error = &error as &dyn StdError;
            tracing::warn!(repository, error, "the version of files of refs was not written");
        }
        self.known.set(repository, version);
        Ok(())
    }

    /// Returns the version of the files of refs; `None` if it is unknown.
    async fn version_on_disk(&self, repository: u64) -> Result<Option<u64>, CopyError> {
        let Some(copy) = self.git.read_copy(repository).await? else { return Ok(None) };
        let is_trusted = copy.boot == self.boot && copy.store == self.identity().await?;
        Ok(is_trusted.then_some(copy.version))
    }

    async fn identity(&self) -> Result<&[u8], StoreError> {
        let read = async {
            let row = identity::get(&self.store.read().await?).await?;
            Ok::<_, StoreError>(row.map(|row| row.id).unwrap_or_default())
        };
        self.identity.get_or_try_init(|| read).await.map(Vec::as_slice)
    }
}

/// Returns whether the disk is full or read-only.
fn is_unwritable(error: &GitError) -> bool {
    let is_read_only = |source: &io::Error| source.kind() == io::ErrorKind::ReadOnlyFilesystem;
    error.is_full_disk() || matches!(error, GitError::Io { source, .. } if is_read_only(source))
}

/// Returns the file for a ref and its row.
fn file((name, value): (String, Option<Ref>)) -> RefFile {
    RefFile { name, value: value.map(|value| (value.tip, value.peeled)) }
}

#[cfg(test)]
mod tests;
