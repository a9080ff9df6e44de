//! Fetches packs from the bucket, and small ones from the store: all packs of a repository that has no directory, and
//! those that its directory lacks.
//!
//! The manifest decides which packs a repository has. Files that it does not name stay in the directory: a pack of a
//! change that was not recorded may be needed by the next one, and git may be replacing packs. A pack gets its name
//! when its size, its ends and its content agree with the manifest. A new directory gets its name when it has all
//! packs.
//!
//! A directory is compared with the manifest when it is first used after a start, when its files of refs are behind,
//! and after git has failed in it. Only names and sizes are compared; `check-data` compares contents.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error as StdError,
};

use farrier_proto::store::{InlinePack, Repository, RepositoryVersion, StoredPack};
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};

use super::{Copies, CopyError, follow::Follow};
use crate::{
    blob::{BlobError, PackFile, PackObject, PackObjects},
    git::{Git, GitError, PackFacts, PackTarget, RepositoryLock, Temporary},
    store::{
        Snapshot, Store,
        packs::{self, Packs, bucket, inline},
        refs, repositories,
    },
};

/// Packs that are fetched at the same time, for one repository.
const PACKS_AT_ONCE: usize = 4;

/// Times that packs are fetched and the manifest is read again before its snapshot is kept while packs are fetched.
const ROUNDS: u32 = 4;

/// Returns what a row says about the files of a pack.
pub fn facts(row: StoredPack) -> PackFacts {
    let StoredPack { bytes, digest, index_bytes, index_digest, objects, object: _, inline: _ } = row;
    PackFacts { bytes, digest, index_bytes, index_digest, objects }
}

fn facts_of_all(packs: &Packs) -> BTreeMap<String, PackFacts> {
    packs.iter().map(|(name, row)| (name.clone(), facts(row.clone()))).collect()
}

impl Copies {
    /// Forgets the version of a copy whose directory was removed, or in which git failed because a pack is missing, so
    /// that its packs are fetched. Does nothing if packs are only on this disk.
    pub(super) async fn note_damage(&self, repository: u64, version: &RepositoryVersion) -> Result<(), CopyError> {
        if self.packs.is_none() || self.known.get(repository).is_none() {
            return Ok(());
        }
        let is_damaged = if self.git.take_suspect(repository) {
            !self.is_complete(repository, version).await?
        } else {
            !self.git.exists(repository).await?
        };
        if is_damaged {
            self.known.forget(repository);
        }
        Ok(())
    }

    /// Returns whether the directory has the right `HEAD` and all packs of the manifest, or packs are only on this
    /// disk. Another daemon may have changed both since this machine had the store.
    pub(super) async fn is_complete(&self, repository: u64, version: &RepositoryVersion) -> Result<bool, CopyError> {
        if self.packs.is_none() {
            return Ok(true);
        }
        let read = self.store.read().await?;
        let row = repositories::get(&read, repository).await?;
        let named = if version.has_manifest { packs::all(&read, repository).await? } else { Packs::new() };
        drop(read);
        if !self.git.exists(repository).await? {
            return Ok(false);
        }
        let names = named.keys().cloned().collect();
        Ok(self.has_head(repository, row.as_ref()).await
            && self.git.lacking_packs(repository, facts_of_all(&named)).await?.is_empty()
            && !(self.has_others() && self.git.has_unnamed_packs(repository, names).await?))
    }

    /// Returns whether `HEAD` names the default branch in the row.
    async fn has_head(&self, repository: u64, row: Option<&Repository>) -> bool {
        let head = self.git.head(repository).await.ok().flatten();
        row.is_none_or(|row| head.as_ref() == Some(&row.default_branch))
    }

    /// Ensures that a repository has a directory with the right `HEAD` and all packs of the manifest, as far as they
    /// are in the bucket. Returns a snapshot whose refs need no other packs, and the names of its packs if the
    /// directory was compared with them.
    pub(super) async fn complete_packs(
        &self,
        repository: u64,
        follow: Follow,
        lock: &RepositoryLock,
    ) -> Result<(Snapshot, Option<BTreeSet<String>>), CopyError> {
        let mut round = 1;
        loop {
            let snapshot = self.store.read().await?;
            let Some(version) = self.to_compare(&snapshot, repository, follow).await? else {
                return Ok((snapshot, None));
            };
            let named = packs::all(&snapshot, repository).await?;
            let row = repositories::get(&snapshot, repository).await?;
            let lacking = self.lacking(repository, &version, row, &named).await?;
            let names = version.has_manifest.then(|| named.into_keys().collect());
            let Some(lacking) = lacking else { return Ok((snapshot, names)) };
            // Fetching can take minutes, in which the snapshot would occupy a connection to the server of the store.
            let held = (round == ROUNDS).then_some(snapshot);
            self.fetch(repository, version.sha256, lacking, lock).await?;
            if self.has_others() {
                self.fetched.add(repository);
            }
            if let Some(snapshot) = held {
                return Ok((snapshot, names));
            }
            round += 1;
        }
    }

    /// Returns the version of a repository whose directory must be compared with the manifest.
    async fn to_compare(
        &self,
        snapshot: &Snapshot,
        repository: u64,
        follow: Follow,
    ) -> Result<Option<RepositoryVersion>, CopyError> {
        if self.packs.is_none() {
            return Ok(None);
        }
        let version = refs::version(snapshot, repository).await?.filter(|version| !version.from_disk);
        let Some(version) = version else { return Ok(None) };
        let is_known = if self.has_others() {
            follow != Follow::Packs && self.known.is(repository, &self.state_of(snapshot, repository, &version).await?)
        } else {
            self.known.get(repository).is_some()
        };
        Ok((!is_known).then_some(version))
    }

    /// Returns what must be fetched. Sets `HEAD` if it differs.
    async fn lacking(
        &self,
        repository: u64,
        version: &RepositoryVersion,
        row: Option<Repository>,
        named: &Packs,
    ) -> Result<Option<Lacking>, CopyError> {
        if !self.git.exists(repository).await? {
            let Some(row) = row.filter(|_| version.has_manifest && bucket::are_all(named)) else {
                tracing::error!(repository, "the directory of a repository is missing; run farrierd check-data");
                return Ok(None);
            };
            return Ok(Some(Lacking::Directory { default_branch: row.default_branch, packs: named.clone() }));
        }
        if let Some(row) = row.filter(|row| !row.deleted)
            && !self.has_head(repository, Some(&row)).await
        {
            self.git.set_head(repository, &row.default_branch).await?;
        }
        // Without a manifest, the directory decides.
        if !version.has_manifest {
            return Ok(None);
        }
        let lacking = self.git.lacking_packs(repository, facts_of_all(named)).await?;
        let mut lacking: Packs =
            lacking.into_iter().filter_map(|(name, _)| named.get_key_value(&name)).map(owned).collect();
        for (name, _) in lacking.iter().filter(|(_, row)| bucket::is_only_local(row)) {
            tracing::error!(repository, name, "a pack of the repository is missing; run farrierd check-data");
        }
        // Those that are only on this disk are left out, for an operator.
        lacking.retain(|_, row| !bucket::is_only_local(row));
        Ok((!lacking.is_empty()).then_some(Lacking::Packs(lacking)))
    }

    async fn fetch(
        &self,
        repository: u64,
        sha256: bool,
        lacking: Lacking,
        lock: &RepositoryLock,
    ) -> Result<(), CopyError> {
        let Some(objects) = &self.packs else { return Ok(()) };
        let fetch = Fetch { store: &self.store, git: &self.git, objects, repository, sha256 };
        let packs = match lacking {
            Lacking::Directory { default_branch, packs } => {
                fetch.directory(&default_branch, &packs, lock).await?;
                packs
            }
            Lacking::Packs(packs) => {
                fetch.missing(&packs, lock).await?;
                packs
            }
        };
        self.sizes.add(repository, packs.values().map(|row| row.bytes + row.index_bytes).sum());
        Ok(())
    }
}

/// What the directory of a repository lacks.
enum Lacking {
    /// There is none.
    Directory {
        /// The default branch of the repository.
        default_branch: String,
        /// All packs.
        packs: Packs,
    },
    /// Some packs.
    Packs(Packs),
}

fn owned((name, row): (&String, &StoredPack)) -> (String, StoredPack) {
    (name.clone(), row.clone())
}

/// Fetches packs of a repository.
struct Fetch<'a> {
    store: &'a Store,
    git: &'a Git,
    objects: &'a PackObjects,
    repository: u64,
    sha256: bool,
}

impl Fetch<'_> {
    /// Creates the directory of a repository from all of its packs.
    async fn directory(&self, default_branch: &str, packs: &Packs, lock: &RepositoryLock) -> Result<(), CopyError> {
        let repository = self.repository;
        let copy = self.git.begin_copy(repository, default_branch, self.sha256, lock).await?;
        if let Err(error) = self.packs(packs, &copy).await {
            self.git.discard_copy(copy).await;
            return Err(error);
        }
        self.git.publish_copy(repository, copy, lock).await?;
        self.git.note_packs_replaced(repository, lock);
        tracing::info!(repository, packs = packs.len(), "the directory of a repository was created from the bucket");
        Ok(())
    }

    /// Adds packs that the directory lacks.
    async fn missing(&self, lacking: &Packs, lock: &RepositoryLock) -> Result<(), CopyError> {
        let repository = self.repository;
        let target = self.git.packs_of(repository, lock).await?;
        self.packs(lacking, &target).await?;
        self.git.note_packs_replaced(repository, lock);
        tracing::info!(repository, packs = lacking.len(), "missing packs of a repository were fetched from the bucket");
        Ok(())
    }

    async fn packs(&self, packs: &Packs, target: &PackTarget) -> Result<(), CopyError> {
        let fetched: Vec<_> = packs.iter().map(|(name, row)| self.pack(name, row, target).boxed()).collect();
        stream::iter(fetched).buffer_unordered(PACKS_AT_ONCE).try_collect().await
    }

    async fn pack(&self, name: &str, row: &StoredPack, target: &PackTarget) -> Result<(), CopyError> {
        let temporary = Temporary(target.temporary());
        if row.inline {
            let InlinePack { pack, index } = self.files(name).await?;
            target.write(&temporary.0, (pack, index)).await?;
        } else {
            let pack = PackObject { repository: self.repository, name: name.to_owned(), object: row.object.clone() };
            tokio::try_join!(
                self.objects.fetch(&pack, PackFile::Pack, &temporary.0.pack),
                self.objects.fetch(&pack, PackFile::Index, &temporary.0.index),
            )?;
        }
        let put = target.put(temporary.0.clone(), name, facts(row.clone()), self.sha256).await;
        put.inspect_err(|error: &GitError| {
            let (repository, error) = (self.repository, error as &dyn StdError);
            tracing::error!(repository, name, error, "a stored pack cannot be used; run farrierd check-data");
        })?;
        Ok(())
    }

    /// Returns the files of a small pack.
    async fn files(&self, name: &str) -> Result<InlinePack, CopyError> {
        let read = self.store.read().await?;
        if let Some(files) = inline::files(&read, self.repository, name).await? {
            return Ok(files);
        }
        if !packs::all(&read, self.repository).await?.contains_key(name) {
            // Another node has replaced it since the manifest was read.
            return Err(CopyError::Late);
        }
        Err(BlobError::PackRowMissing { repository: self.repository, name: name.to_owned() }.into())
    }
}
