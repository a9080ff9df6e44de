//! Follows what other nodes do to the packs of a repository.
//!
//! If the store is shared and packs are in a bucket, other nodes push, tidy and prune. Then the state of a copy has the
//! prune epoch and the default branch as well, and whenever one of them or the version of the refs changed, the
//! directory is compared with the manifest. In this order: packs that it lacks are fetched, refs are written, and packs
//! that the manifest does not name are hidden, also those of failed changes of this node. So a copy with a prune epoch
//! has no object that was pruned before, and a change that looks up objects in it may name this epoch.
//!
//! Tidying by another node changes none of the three: the copy keeps its packs, which have the same objects, until it
//! is compared again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use farrier_proto::store::RepositoryVersion;
use tokio::{sync::Notify, time::Instant};

use super::{Copies, CopyError, follow::Follow, known::CopyState};
use crate::{
    git::RepositoryLock,
    store::{
        Read, StoreError,
        packs::{self, bucket},
        refs, repositories,
    },
};

/// Age of a directory without a row from which it is no repository that is being created.
const UNUSED: Duration = Duration::from_secs(86_400);

/// Copies with hidden packs, and when their files can be removed.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    due: Mutex<BTreeMap<u64, Instant>>,
    added: Notify,
}

impl Hidden {
    fn add(&self, repository: u64, at: Instant) {
        self.due().insert(repository, at);
        self.added.notify_one();
    }

    fn due(&self) -> MutexGuard<'_, BTreeMap<u64, Instant>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies that have got packs of other nodes since they were last taken.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    repositories: Mutex<BTreeSet<u64>>,
    added: Notify,
}

impl Fetched {
    pub(super) fn add(&self, repository: u64) {
        self.repositories().insert(repository);
        self.added.notify_one();
    }

    fn repositories(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.repositories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Copies {
    /// Waits until copies have got packs of other nodes, and returns them. They may need a multi-pack index, which no
    /// push to this node writes.
    pub async fn fetched(&self) -> BTreeSet<u64> {
        loop {
            let fetched = std::mem::take(&mut *self.fetched.repositories());
            if !fetched.is_empty() {
                return fetched;
            }
            self.fetched.added.notified().await;
        }
    }

    /// Returns whether other nodes may change the repositories.
    pub fn has_others(&self) -> bool {
        self.packs.is_some() && self.store.is_shared()
    }

    /// Returns whether the directory of a repository is only a copy, also if the repository has no row: the packs of
    /// all repositories are in the bucket.
    pub async fn are_only_copies(&self) -> Result<bool, StoreError> {
        let place = if self.has_others() { bucket::place(&self.store.read().await?).await? } else { None };
        Ok(place.is_some_and(|place| place.complete))
    }

    /// Like [`Copies::current`] if other nodes may change the repository; does nothing otherwise. Called by a change
    /// after it has read values of refs or the prune epoch, and before it looks up objects.
    pub async fn follow_others(&self, repository: u64) -> Result<(), CopyError> {
        if self.has_others() {
            self.current(repository).await?;
        }
        Ok(())
    }

    /// Like [`Copies::follow_others`], for a holder of the lock of the repository.
    pub async fn follow_others_locked(&self, repository: u64, lock: &RepositoryLock) -> Result<(), CopyError> {
        if self.has_others() {
            self.current_locked(repository, lock).await?;
        }
        Ok(())
    }

    /// Compares the directory with the manifest even if the copy seems to be current, and hides packs that others have
    /// replaced. Returns the version of the copy.
    pub async fn compare_locked(&self, repository: u64, lock: &RepositoryLock) -> Result<u64, CopyError> {
        self.bring_current(repository, Follow::Packs, lock).await
    }

    /// Notes that no pack is left that was dropped between two prune epochs.
    pub fn note_hidden(&self, repository: u64, (before, after): (u64, u64)) {
        self.known.raise_epoch(repository, before, after);
    }

    /// Returns the state of a copy that has everything of the rows.
    pub(super) async fn state_of(
        &self,
        read: &impl Read,
        repository: u64,
        version: &RepositoryVersion,
    ) -> Result<CopyState, StoreError> {
        let mut of_others = None;
        if self.has_others() {
            let row = repositories::get(read, repository).await?;
            of_others = Some((version.prune_epoch, row.map(|row| row.default_branch).unwrap_or_default()));
        }
        Ok(CopyState { version: version.version, of_others })
    }

    /// Hides the packs that are not in `named`, except those of changes of this node whose transaction is still to
    /// come, unless objects were pruned since. The directory has all packs of `named`. `is_same_epoch`: whether none
    /// were.
    pub(super) async fn hide_unnamed(
        &self,
        repository: u64,
        mut named: BTreeSet<String>,
        is_same_epoch: bool,
        lock: &RepositoryLock,
    ) -> Result<(), CopyError> {
        self.git.forget_installed(repository, &named);
        if is_same_epoch {
            named.extend(self.git.installed_packs(repository));
        } else {
            self.git.remove_commit_graph(repository, lock).await?;
        }
        if self.git.hide_unnamed_packs(repository, named, lock).await? {
            self.hidden.add(repository, Instant::now() + self.git.timeout());
        }
        Ok(())
    }

    /// Removes the files of hidden packs when no process reads them any more. Runs until it is dropped.
    pub async fn remove_hidden(&self) {
        loop {
            let first = self.hidden.due().iter().min_by_key(|(_, at)| **at).map(|(id, at)| (*id, *at));
            let Some((repository, at)) = first else {
                self.hidden.added.notified().await;
                continue;
            };
            tokio::time::sleep_until(at).await;
            self.hidden.due().remove(&repository);
            match self.remove_hidden_of(repository).await {
                Ok(false) => {}
                Ok(true) => self.hidden.add(repository, Instant::now() + self.git.timeout()),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(repository, error, "hidden packs were not removed and will be tried again in a day");
                }
            }
        }
    }

    /// Removes the hidden packs of a copy that are old enough. Returns whether others are left.
    async fn remove_hidden_of(&self, repository: u64) -> Result<bool, CopyError> {
        let lock = self.git.lock(repository).await;
        let read = self.store.read().await?;
        // Without a manifest, the directory decides.
        if !refs::version(&read, repository).await?.is_some_and(|version| version.has_manifest) {
            return Ok(false);
        }
        let named = packs::all(&read, repository).await?.into_keys().collect();
        drop(read);
        Ok(self.git.remove_hidden_packs(repository, named, &lock).await?)
    }

    /// Removes what this node has of repositories that do not exist any more, and hidden packs of earlier starts.
    ///
    /// Acknowledged data that this could remove: none. All packs are in the bucket; otherwise nothing is removed. A
    /// directory without a row is that of a purged repository, unless it has changed within a day: then the repository
    /// may be about to be created.
    pub async fn remove_unused(&self) -> Result<(), CopyError> {
        if !self.are_only_copies().await? {
            return Ok(());
        }
        for repository in self.git.repositories_on_disk().await? {
            let exists = repositories::get(&self.store.read().await?, repository).await?.is_some();
            if exists {
                if self.git.has_hidden_packs(repository).await? {
                    self.remove_hidden_of(repository).await?;
                }
                continue;
            }
            let lock = self.git.lock(repository).await;
            // Read again: it was read without the lock.
            let exists = repositories::get(&self.store.read().await?, repository).await?.is_some();
            if !exists && self.git.is_unused_since(repository, UNUSED).await? {
                self.git.remove(repository).await?;
                tracing::info!(repository, "removed the copy of a repository that was purged");
            }
            drop(lock);
        }
        Ok(())
    }
}
