//! The manifests of repositories: the rows that name their packs. The files are in the directories of repositories.
//!
//! The transaction that moves refs adds every complete pack in the directory that has no row yet (`unnamed`). Usually
//! that is the pack with the new objects. It can also be a pack of an earlier change that was refused, or before whose
//! transaction the daemon was killed: git may have found objects in it since, and later packs build on them. So a
//! manifest always has the objects that its packs name, and a pack without a row is never removed.
//!
//! If packs are in a bucket, each of these packs is stored there first, or is small enough to be a row
//! (`bucket_packs`).
//!
//! If other nodes may change the repository as well, only packs that this start of the daemon has put into the
//! directory are added: others without a row were dropped by another node.
//!
//! A pack that tidying or pruning has dropped (`tidying`) is left out until its files are removed. In a repository of
//! an earlier release, the files decide until its manifest is written (`adopt`).
//!
//! Acknowledged data that this could lose: the name of a pack whose files were lost would go with it, so that nobody
//! notices the loss. So a manifest is written again only if the repository still has every object that its refs reach:
//! an operator has then replaced packs with git.

use std::{collections::BTreeSet, error::Error as StdError};

use farrier_proto::store::StoredPack;

use super::{
    Context, Error,
    bucket_packs::{self, PackOrigin},
    tidying,
};
use crate::{
    copies::facts,
    git::{PackChanges, PackFacts, PublishError, RepositoryLock, Workspace},
    store::{
        Tx, dropped_packs,
        packs::{self, NewPacks, Packs},
        refs,
    },
};

/// The operation that errors of git name.
const DOING: &str = "reading the packs of a repository";
/// Maximum number of attempts to store a change, if objects are removed meanwhile.
const STORE_TRIES: u32 = 3;

/// Returns the packs that the next transaction must add to the manifest of a repository. Their files and names are on
/// stable storage. Empty if the repository has no manifest. `origin`: why the transaction takes place.
pub(super) async fn unnamed(
    context: &Context,
    repository: u64,
    origin: PackOrigin,
    _lock: &RepositoryLock,
) -> Result<NewPacks, Error> {
    let read = context.store.read().await?;
    let Some(version) = refs::version(&read, repository).await? else { return Ok(NewPacks::default()) };
    let known = if version.has_manifest { packs::all(&read, repository).await? } else { Packs::new() };
    drop(read);
    context.git.forget_installed(repository, known.keys());
    // Without a manifest as well, because the names of new packs are synced here.
    let mut changes = changes(context, repository, version.sha256, known.keys().cloned().collect()).await?;
    if !version.has_manifest {
        return bucket_packs::require_manifest(context, repository).await.map(|()| NewPacks::default());
    }
    if context.copies.has_others() {
        // Other nodes have added those that are missing, and dropped those that this start has not added.
        let installed = context.git.installed_packs(repository);
        changes.added.retain(|(name, _)| installed.contains(name));
        changes.missing.clear();
    }
    for name in &changes.missing {
        tracing::error!(repository, name, "a pack of the repository is missing; run farrierd check-data");
    }
    for (name, problem) in &changes.unreadable {
        tracing::error!(repository, name, problem, "a file of a pack cannot be used; run farrierd check-data");
    }
    let new = rows(changes);
    if origin == PackOrigin::Change {
        bucket_packs::require_room(context, &known, &new)?;
    }
    bucket_packs::stored(context, repository, new, origin).await
}

/// Returns the manifest of a directory that was created for a repository without a row. `None` if it has loose objects,
/// because an earlier release wrote it; then the manifest is written at the next use ([`adopt`]). If packs are in a
/// bucket, loose objects are packed instead. `known`: rows of packs that are in the bucket already.
pub(super) async fn of_new(
    context: &Context,
    repository: u64,
    sha256: bool,
    known: Packs,
) -> Result<Option<NewPacks>, Error> {
    if context.git.has_loose_objects(repository).await.map_err(Error::git(DOING))? {
        if context.packs.is_none() {
            return Ok(None);
        }
        // No backup has the repository, because it has no row yet.
        pack_loose_objects(context, repository, &context.git.lock(repository).await).await?;
    }
    complete(context, repository, sha256, known).await.map(Some)
}

async fn pack_loose_objects(context: &Context, repository: u64, lock: &RepositoryLock) -> Result<(), Error> {
    let packed = context.git.pack_loose_objects(repository, lock).await;
    packed.map_err(Error::git("packing the loose objects of a repository"))
}

/// Writes the manifest of a repository that has none: an earlier release wrote it, or was killed while git replaced
/// packs. Loose objects, which earlier releases wrote, are packed first. Can be repeated at any time.
///
/// Does nothing while the files of refs decide, or while a backup keeps loose objects from being removed.
pub(super) async fn adopt(context: &Context, repository: u64, lock: &RepositoryLock) -> Result<(), Error> {
    let version = refs::version(&context.store.read().await?, repository).await?;
    let Some(version) = version.filter(|version| !version.from_disk && !version.has_manifest) else { return Ok(()) };
    // Another node may have the directory.
    if !context.git.exists(repository).await.map_err(Error::git(DOING))? {
        return Err(Error::Busy);
    }
    if context.git.has_loose_objects(repository).await.map_err(Error::git(DOING))? {
        // Read after the version: a backup whose snapshot has a manifest holds removals before the snapshot.
        if context.git.removals().is_held() {
            return Ok(());
        }
        pack_loose_objects(context, repository, lock).await?;
    }
    write(context, repository, version.sha256).await
}

/// Like [`adopt`], for a caller that can go on without a manifest: an error is logged.
pub(super) async fn try_adopt(context: &Context, repository: u64, lock: &RepositoryLock) {
    if let Err(error) = adopt(context, repository, lock).await {
        let error = &error as &dyn StdError;
        tracing::error!(repository, error, "the packs of a repository could not be recorded; run farrierd check-data");
    }
}

/// Adds the packs in the directory of a repository that have no row to its manifest, if it has one. Fails if a pack of
/// the manifest is missing, unless the repository has every object that its refs reach: then another program has
/// replaced packs, and the manifest becomes what is in the directory.
pub(super) async fn add_unnamed(context: &Context, repository: u64, lock: &RepositoryLock) -> Result<(), Error> {
    let read = context.store.read().await?;
    let version = refs::version(&read, repository).await?.filter(|version| version.has_manifest);
    let Some(version) = version else { return Ok(()) };
    let known = packs::all(&read, repository).await?.into_keys().collect();
    drop(read);
    let missing = changes(context, repository, version.sha256, known).await?.missing;
    if let Some(name) = missing.first() {
        // Another node has added it since the directory was compared with the manifest.
        if context.copies.has_others() {
            return Err(Error::Busy);
        }
        if !is_whole(context, repository).await? {
            return Err(Error::Conflict { reason: format!("the pack {name} is missing; run farrierd check-data") });
        }
        tracing::warn!(repository, missing = missing.len(), "packs were replaced by another program");
        return write(context, repository, version.sha256).await;
    }
    let added = &unnamed(context, repository, PackOrigin::Tidying, lock).await?;
    if added.is_empty() {
        return Ok(());
    }
    let add = async |tx: Tx| {
        // Read again: the repository may have been deleted, or objects that the packs name may have been pruned.
        let now = refs::version(&tx, repository).await?.filter(|now| now.has_manifest);
        if now.is_some_and(|now| now.prune_epoch == version.prune_epoch) {
            bucket_packs::require_recent(context, &tx, added).await?;
            packs::add(&tx, repository, added);
        }
        Ok::<_, Error>(())
    };
    context.store.write(add).await
}

/// Stores the commit `commit` of a workspace, and what it refers to except what `base` has, in a repository. Returns
/// the size of the pack in bytes.
///
/// `refused` returns the error for objects that git refuses. The pack is checked without the lock of the repository. If
/// objects were removed since, which the new ones may name, it is checked again: otherwise the next change would make
/// it part of the manifest.
pub(super) async fn store(
    context: &Context,
    repository: u64,
    workspace: &Workspace,
    (commit, base): (&str, Option<&str>),
    refused: fn(PublishError) -> Error,
) -> Result<u64, Error> {
    for _ in 0..STORE_TRIES {
        let version = refs::version(&context.store.read().await?, repository).await?;
        let epoch = version.map_or(0, |version| version.prune_epoch);
        context.copies.follow_others(repository).await?;
        let mut packed = workspace.pack(commit, base).await.map_err(refused)?;
        bucket_packs::send(context, repository, &mut packed, PackOrigin::Change).await?;
        let lock = context.git.lock(repository).await;
        match require_epoch(context, repository, epoch, &lock).await {
            Ok(()) => return packed.install(&lock).await.map_err(Error::git("writing a change")),
            Err(Error::Busy) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Busy)
}

/// Returns [`Error::Busy`] if objects may have been removed from a repository since its prune epoch was `epoch`.
pub(super) async fn require_epoch(
    context: &Context,
    repository: u64,
    epoch: u64,
    lock: &RepositoryLock,
) -> Result<(), Error> {
    tidying::complete(context, repository, lock).await?;
    let version = refs::version(&context.store.read().await?, repository).await?;
    if version.is_none_or(|version| version.prune_epoch == epoch) { Ok(()) } else { Err(Error::Busy) }
}

/// Returns whether a repository has every object that its refs reach.
async fn is_whole(context: &Context, repository: u64) -> Result<bool, Error> {
    let tips = refs::all_tips(&context.store.read().await?, repository).await?;
    context.git.has_all_objects(repository, &tips).await.map_err(Error::git(DOING))
}

/// Makes the packs in the directory the manifest.
async fn write(context: &Context, repository: u64, sha256: bool) -> Result<(), Error> {
    let known = packs::all(&context.store.read().await?, repository).await?;
    let packs = &complete(context, repository, sha256, known).await?;
    context.store.write(async |tx: Tx| Ok::<_, Error>(packs::replace(&tx, repository, packs).await?)).await
}

/// Returns all packs in the directory. Fails if one cannot be read: a manifest without it would hide the damage.
/// `known`: rows of packs, which may be in the bucket or in the store already.
async fn complete(context: &Context, repository: u64, sha256: bool, known: Packs) -> Result<NewPacks, Error> {
    let changes = changes(context, repository, sha256, BTreeSet::new()).await?;
    if let Some((name, problem)) = changes.unreadable.first() {
        return Err(Error::Conflict { reason: format!("the pack {name} cannot be used: {problem}") });
    }
    let mut packs = rows(changes);
    for (name, before) in known {
        if let Some(row) = packs.get_mut(&name)
            && facts(row.clone()) == facts(before.clone())
        {
            *row = before;
        }
    }
    bucket_packs::stored(context, repository, packs, PackOrigin::Change).await
}

/// Compares the directory of a repository with the packs `known`. Packs that were dropped are left out.
async fn changes(
    context: &Context,
    repository: u64,
    sha256: bool,
    known: BTreeSet<String>,
) -> Result<PackChanges, Error> {
    let dropped = dropped_packs::all(&context.store.read().await?, repository).await?;
    let dropped = dropped.into_keys().filter(|name| !known.contains(name)).collect();
    context.git.pack_changes(repository, sha256, (known, dropped)).await.map_err(Error::git(DOING))
}

/// Returns the rows for the packs that a manifest does not have. They are not in a bucket yet.
pub fn rows(changes: PackChanges) -> Packs {
    let row = |PackFacts { bytes, digest, index_bytes, index_digest, objects }| StoredPack {
        bytes,
        digest,
        index_bytes,
        index_digest,
        objects,
        ..StoredPack::default()
    };
    changes.added.into_iter().map(|(name, facts)| (name, row(facts))).collect()
}
