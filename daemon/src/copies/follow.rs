//! Writes the files of a copy from the rows.

use std::{collections::BTreeSet, error::Error as StdError, io, sync::Arc};

use super::{Copies, CopyError, known::CopyState, next_page};
use crate::{
    git::{CopyFile, GitError, RefFile, RepositoryLock},
    store::{
        Snapshot,
        refs::{
            self, Ref,
            changes::{self, CatchUp},
        },
    },
};

/// Maximum number of refs that are written one by one. For more refs, writing the list of all refs is faster.
const STEPS_MAX: usize = 1_000;

/// What is done to a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// If its state differs from the rows, its packs are compared, and the refs that changed are written.
    Changes,
    /// The same, but its packs are compared in any case.
    Packs,
    /// All refs are written.
    All,
}

/// What the file `farrier-copy` says about a copy.
#[derive(Clone, Copy)]
pub(super) struct OnDisk {
    version: u64,
    epoch: Option<u64>,
}

impl OnDisk {
    /// Returns whether the copy may have `state`. The default branch is not compared.
    pub(super) fn has(&self, state: &CopyState) -> bool {
        self.version == state.version && state.epoch().is_none_or(|epoch| self.epoch == Some(epoch))
    }
}

/// What a copy is brought to.
struct Target {
    snapshot: Snapshot,
    state: CopyState,
    /// The packs of the manifest, if the directory was compared with it.
    named: Option<BTreeSet<String>>,
    /// The prune epoch whose dropped packs were hidden before.
    epoch: Option<u64>,
}

impl Copies {
    /// Brings the copy to the rows: first packs, then refs. Then packs that the manifest does not name are hidden.
    pub(super) async fn follow(
        &self,
        repository: u64,
        follow: Follow,
        guard: Arc<RepositoryLock>,
        lock: &RepositoryLock,
    ) -> Result<u64, CopyError> {
        let (snapshot, named) = self.complete_packs(repository, follow, lock).await?;
        let Some(row) = refs::version(&snapshot, repository).await? else { return Ok(0) };
        if row.from_disk {
            return Ok(row.version);
        }
        let state = self.state_of(&snapshot, repository, &row).await?;
        let on_disk = match self.known.get(repository) {
            Some(known) => Some(OnDisk { version: known.version, epoch: known.epoch() }),
            None => self.on_disk(repository).await?,
        };
        let epoch = on_disk.and_then(|on_disk| on_disk.epoch);
        let target = Target { snapshot, state, named, epoch };
        let Some(on_disk) = on_disk.filter(|_| follow != Follow::All) else {
            return self.write_all(repository, target, guard, lock).await;
        };
        if on_disk.version == row.version {
            if !on_disk.has(&target.state) {
                return self.complete(repository, target, guard, lock).await;
            }
            self.hide(repository, target.named, true, lock).await?;
            self.known.set(repository, target.state);
            return Ok(row.version);
        }
        let names = match changes::since(&target.snapshot, repository, on_disk.version, STEPS_MAX).await? {
            CatchUp::Steps { names, .. } => names,
            CatchUp::Everything { .. } => return self.write_all(repository, target, guard, lock).await,
        };
        let files = refs::many(&target.snapshot, repository, &names).await?.into_iter().map(file).collect();
        match self.git.write_refs(repository, files, guard.clone()).await {
            Ok(()) => self.complete(repository, target, guard, lock).await,
            // More files cannot be written either.
            Err(error) if is_unwritable(&error) => Err(error.into()),
            Err(error) => {
                // Somebody has changed the files by hand.
                tracing::warn!(
                    repository,
                    error = &error as &dyn StdError,
                    "files of refs could not be written one by one; all are written again"
                );
                self.write_all(repository, target, guard, lock).await
            }
        }
    }

    /// Replaces all files of refs by the rows of the snapshot.
    async fn write_all(
        &self,
        repository: u64,
        target: Target,
        guard: Arc<RepositoryLock>,
        lock: &RepositoryLock,
    ) -> Result<u64, CopyError> {
        // After an interruption, the files may have the values of no single version.
        self.known.forget(repository);
        let mut rewrite = self.git.begin_rewrite(repository, guard.clone()).await?;
        let mut last = None;
        while let Some(page) = next_page(&target.snapshot, repository, &mut last).await? {
            let files = page.into_iter().map(|(name, value)| file((name, Some(value)))).collect();
            rewrite = rewrite.add(files).await?;
        }
        rewrite.finish().await?;
        self.complete(repository, target, guard, lock).await
    }

    /// Hides packs that the manifest does not name, and records the state of the copy, whose files of refs were
    /// written. If the file `farrier-copy` cannot be written, they are written again after the next start.
    async fn complete(
        &self,
        repository: u64,
        target: Target,
        guard: Arc<RepositoryLock>,
        lock: &RepositoryLock,
    ) -> Result<u64, CopyError> {
        let Target { snapshot, state, named, epoch: before } = target;
        drop(snapshot);
        let epoch = state.epoch();
        self.hide(repository, named, before == epoch, lock).await?;
        let version = state.version;
        let copy = CopyFile { store: self.identity().await?.to_vec(), version, epoch, boot: self.boot.clone() };
        if let Err(error) = self.git.write_copy(repository, &copy, guard).await {
            let error = &error as &dyn StdError;
            tracing::warn!(repository, error, "the version of files of refs was not written");
        }
        self.known.set(repository, state);
        Ok(version)
    }

    async fn hide(
        &self,
        repository: u64,
        named: Option<BTreeSet<String>>,
        is_same_epoch: bool,
        lock: &RepositoryLock,
    ) -> Result<(), CopyError> {
        match named.filter(|_| self.has_others()) {
            Some(named) => self.hide_unnamed(repository, named, is_same_epoch, lock).await,
            None => Ok(()),
        }
    }

    /// Returns what the file of a copy says; `None` if it cannot be trusted.
    pub(super) async fn on_disk(&self, repository: u64) -> Result<Option<OnDisk>, CopyError> {
        let Some(copy) = self.git.read_copy(repository).await? else { return Ok(None) };
        let is_trusted = copy.boot == self.boot && copy.store == self.identity().await?;
        Ok(is_trusted.then_some(OnDisk { version: copy.version, epoch: copy.epoch }))
    }
}

/// Returns whether the disk is full or read-only.
pub(super) fn is_unwritable(error: &GitError) -> bool {
    let is_read_only = |source: &io::Error| source.kind() == io::ErrorKind::ReadOnlyFilesystem;
    error.is_full_disk() || matches!(error, GitError::Io { source, .. } if is_read_only(source))
}

/// Returns the file for a ref and its row.
pub(super) fn file((name, value): (String, Option<Ref>)) -> RefFile {
    RefFile { name, value: value.map(|value| (value.tip, value.peeled)) }
}
