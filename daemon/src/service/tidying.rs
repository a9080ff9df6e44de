//! Tidies repositories, and removes the packs that tidying and pruning replace.
//!
//! Rows decide which packs a repository has, also while packs are combined: git makes a new pack, and one transaction
//! adds its row and drops those of the packs that it replaces. If a row that it was made from has changed, the
//! transaction does nothing and the new pack is discarded. Pushes wait only for this exchange: git makes the pack
//! without the lock of the repository. Only one task tidies or prunes a repository (`Tidying`).
//!
//! The files of dropped packs are hidden first and removed after `git.timeout_secs` ([`crate::git`], `dropped_packs`).
//!
//! Acknowledged data that this could lose: objects of the dropped packs. The transaction names packs that have all of
//! them, and that are on stable storage. Files are hidden or removed only if a row says that the pack was dropped and
//! none says that it is in the manifest, both read under the lock of the repository, and not while a backup may need
//! them. An unknown outcome of the transaction removes nothing: the new pack is in the manifest, or gets its row with
//! the next change.

mod state;

use std::{collections::BTreeSet, error::Error as StdError};

use farrier_proto::store::{Repository, RepositoryVersion};

pub use self::state::Tidying;
use super::{
    Context, Error,
    bucket_packs::{self, PackOrigin},
    packs,
};
use crate::{
    clock::Millis,
    git::{
        RepositoryLock, TidyLevel,
        geometry::{Divided, divide},
    },
    store::{
        Read, Tx, dropped_packs,
        packs::{self as pack_rows, Packs},
        refs, repositories,
    },
};

/// The operation that errors of git name.
const DOING: &str = "tidying a repository";
/// Number of dropped packs to remove per step.
const BATCH: usize = 1_000;
/// Pause before files that could not be removed are tried again.
const PAUSE_MS: Millis = 60_000;

/// What a manifest was when a pack was made from its packs.
pub(super) struct Basis {
    /// The packs.
    pub(super) packs: Packs,
    /// The prune epoch of the repository.
    pub(super) epoch: u64,
    /// The version of the refs, which the files have.
    pub(super) version: u64,
}

/// What happens to the objects of dropped packs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Objects {
    /// The new packs have all of them.
    Stay,
    /// The new packs lack some of them.
    Leave,
}

/// Tidies a repository as far as that is worthwhile. Returns whether its packs changed. Does nothing while a backup
/// holds removals.
pub(super) async fn tidy(context: &Context, repository: u64) -> Result<bool, Error> {
    let failed = || Error::git(DOING);
    if context.git.removals().is_held() || context.tidying.is_paused(repository) {
        return Ok(false);
    }
    if context.git.untidiness(repository).await.map_err(failed())?.is_none() {
        return Ok(false);
    }
    let _tidying = context.tidying.lock(repository).await;
    // Another task may have tidied it meanwhile.
    let Some(level) = context.git.untidiness(repository).await.map_err(failed())? else { return Ok(false) };
    let lock = context.git.lock(repository).await;
    let Some(basis) = basis(context, repository, &lock).await? else { return Ok(false) };
    context.git.remove_unfinished(repository, &lock).await.map_err(failed())?;
    context.git.pack_refs(repository, level == TidyLevel::Everything, &lock).await.map_err(failed())?;
    drop(lock);
    let changed = combine(context, repository, &basis).await?;
    if context.git.untidiness(repository).await.map_err(failed())? == Some(TidyLevel::Everything) {
        write_derived(context, repository).await?;
    }
    if changed {
        let lock = context.git.lock(repository).await;
        hide(context, repository, &lock).await?;
    }
    Ok(changed)
}

/// Returns the manifest of a repository for a task that replaces packs. Completes what was interrupted, and adds packs
/// without a row first. `None` if the repository has no manifest yet.
///
/// Fails if a pack of the manifest is missing: its name would be lost, and nobody would notice the loss. But if the
/// repository still has every object that its refs reach, an operator has replaced packs with git, and the manifest
/// becomes what is in the directory.
pub(super) async fn basis(context: &Context, repository: u64, lock: &RepositoryLock) -> Result<Option<Basis>, Error> {
    complete(context, repository, lock).await?;
    packs::adopt(context, repository, lock).await?;
    // Before the manifest is read: if another node moves refs afterwards, `exchange` finds another version.
    let mut followed = None;
    if context.copies.has_others() {
        followed = Some(context.copies.compare_locked(repository, lock).await?);
    }
    packs::add_unnamed(context, repository, lock).await?;
    let read = context.store.read().await?;
    let version = refs::version(&read, repository).await?.filter(|version| version.has_manifest);
    let Some(version) = version else { return Ok(None) };
    let packs = pack_rows::all(&read, repository).await?;
    Ok(Some(Basis { packs, epoch: version.prune_epoch, version: followed.unwrap_or(version.version) }))
}

/// Combines packs of a repository. Returns whether it has fewer packs now.
async fn combine(context: &Context, repository: u64, basis: &Basis) -> Result<bool, Error> {
    let failed = || Error::git("combining packs");
    let cruft = context.git.cruft_packs(repository).await.map_err(failed())?;
    // The times in a cruft pack would be lost.
    let sizes = basis.packs.iter().filter(|(name, _)| !cruft.contains(name));
    let Divided { combined, others } = divide(sizes.map(|(name, pack)| (name.clone(), pack.objects)).collect());
    if combined.is_empty() {
        return Ok(false);
    }
    let mut made = context.git.combine_packs(repository, &combined, &others).await.map_err(failed())?;
    if let Some(pack) = &mut made {
        let sent = bucket_packs::send(context, repository, pack, PackOrigin::Tidying).await;
        sent.inspect_err(|_| context.tidying.pause(repository))?;
    }
    let lock = context.git.lock(repository).await;
    // Before the pack is moved to the repository, so that it is rarely discarded.
    if !is_current(&context.store.read().await?, repository, basis, Objects::Stay).await? {
        return Ok(false);
    }
    let mut new = Vec::new();
    if let Some(pack) = made {
        new.push(pack.name());
        pack.install(repository).await.map_err(failed())?;
    }
    exchange(context, repository, (basis, &combined), &new, Objects::Stay, &lock).await
}

/// Replaces the packs `dropped` of a manifest by the packs `new`, which are in the directory, in one transaction.
/// Returns whether it did; otherwise the manifest has changed since `basis`, and the files of the new packs are
/// removed.
pub(super) async fn exchange(
    context: &Context,
    repository: u64,
    (basis, dropped): (&Basis, &[String]),
    new: &[String],
    objects: Objects,
    lock: &RepositoryLock,
) -> Result<bool, Error> {
    let mut added = packs::unnamed(context, repository, PackOrigin::Tidying, lock).await?;
    added.retain(new);
    let timeout = Millis::try_from(context.git.timeout().as_millis()).unwrap_or(Millis::MAX);
    let due_ms = context.now_ms().saturating_add(timeout);
    let (added, is_complete) = (&added, added.rows.len() == new.len());
    let exchanged = context.store.write(async |tx: Tx| {
        if !is_complete || !is_current(&tx, repository, basis, objects).await? {
            return Ok(false);
        }
        let of_dropped = |(name, _): &(&String, &_)| dropped.contains(name);
        let packs = basis.packs.iter().filter(of_dropped).map(|(name, pack)| (name.clone(), pack.clone()));
        dropped_packs::drop_all(&tx, repository, &packs.collect(), due_ms);
        bucket_packs::require_recent(context, &tx, added).await?;
        pack_rows::add(&tx, repository, added);
        if objects == Objects::Leave {
            refs::begin_hiding(&tx, repository).await?;
        }
        Ok::<_, Error>(true)
    });
    let exchanged = exchanged.await;
    // Also after an unknown outcome.
    context.tidying.removals.due_at(due_ms);
    let exchanged = exchanged?;
    if exchanged {
        context.git.forget_installed(repository, new);
    } else {
        discard(context, repository, new, lock).await?;
    }
    Ok(exchanged)
}

/// Returns whether a repository still has the packs and the prune epoch of `basis`. It may have more packs. If objects
/// leave, it must have no more packs and the same refs: another node may have moved a ref to one of these objects.
async fn is_current(read: &impl Read, repository: u64, basis: &Basis, objects: Objects) -> Result<bool, Error> {
    let row = repositories::get(read, repository).await?;
    // A deleted repository can be restored until its files are removed.
    let is_kept = |row: &Repository| !row.deleted || row.deleted_ms != 0;
    let is_same = |version: &RepositoryVersion| version.has_manifest && version.prune_epoch == basis.epoch;
    let version = refs::version(read, repository).await?.filter(is_same);
    let Some(version) = version.filter(|_| row.as_ref().is_some_and(is_kept)) else { return Ok(false) };
    let packs = pack_rows::all(read, repository).await?;
    if objects == Objects::Leave && (version.version != basis.version || packs.len() != basis.packs.len()) {
        return Ok(false);
    }
    Ok(basis.packs.iter().all(|(name, pack)| packs.get(name) == Some(pack)))
}

/// Removes new packs that no row names.
async fn discard(context: &Context, repository: u64, new: &[String], lock: &RepositoryLock) -> Result<(), Error> {
    let named = pack_rows::all(&context.store.read().await?, repository).await?;
    let names: BTreeSet<String> = new.iter().filter(|name| !named.contains_key(*name)).cloned().collect();
    context.git.remove_packs(repository, names, lock).await.map_err(Error::git(DOING))
}

/// Writes the files that git derives from the packs of a repository.
pub(super) async fn write_derived(context: &Context, repository: u64) -> Result<(), Error> {
    let packs = pack_rows::all(&context.store.read().await?, repository).await?;
    let mut names: Vec<(u32, String)> = packs.into_iter().map(|(name, pack)| (pack.objects, name)).collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    let names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
    if names.is_empty() {
        return Ok(());
    }
    context.git.write_derived(repository, &names).await.map_err(Error::git("writing the index of several packs"))
}

/// Hides the dropped packs of a repository, unless a backup may need them: then their removal does it later.
pub(super) async fn hide(context: &Context, repository: u64, lock: &RepositoryLock) -> Result<(), Error> {
    if context.copies.has_others() {
        // Others may have dropped packs for new ones that this node does not have yet.
        context.copies.compare_locked(repository, lock).await?;
        return Ok(());
    }
    let names = removable(context, repository, Millis::MAX).await?;
    // After the rows were read: a backup whose snapshot names the packs in its manifest holds removals before.
    if context.git.removals().is_held() {
        return Ok(());
    }
    context.git.hide_packs(repository, names, lock).await.map_err(Error::git(DOING))
}

/// Ends a pruning whose transaction was committed: git must not find the dropped objects any more. A backup whose
/// snapshot was taken before the transaction needs the packs; then they become part of the manifest again.
pub(super) async fn end_pruning(
    context: &Context,
    repository: u64,
    dropped: &[String],
    lock: &RepositoryLock,
) -> Result<(), Error> {
    if !context.git.removals().is_held() {
        return complete(context, repository, lock).await;
    }
    let names = &dropped.iter().cloned().collect();
    let taken_back = context.store.write(async |tx: Tx| {
        dropped_packs::take_back(&tx, repository, names).await?;
        Ok::<_, Error>(refs::end_hiding(&tx, repository).await?)
    });
    taken_back.await?;
    Err(Error::Busy)
}

/// Hides the packs that pruning has dropped, if that was interrupted. Until then, no ref moves. A backup cannot need
/// the packs: it began after the interruption.
pub(super) async fn complete(context: &Context, repository: u64, lock: &RepositoryLock) -> Result<(), Error> {
    let version = refs::version(&context.store.read().await?, repository).await?;
    let Some(version) = version.filter(|version| version.hiding) else { return Ok(()) };
    if context.copies.has_others() {
        // Each node hides them before it looks up objects at the new prune epoch, also after a power cut.
        context.copies.compare_locked(repository, lock).await?;
    } else {
        let names = removable(context, repository, Millis::MAX).await?;
        context.git.hide_packs_durably(repository, names, lock).await.map_err(Error::git(DOING))?;
    }
    let epoch = version.prune_epoch;
    let ended = context.store.write(async |tx: Tx| {
        // Another node may have ended it, and may have begun another pruning.
        let is_same = |now: &RepositoryVersion| now.hiding && now.prune_epoch == epoch;
        let is_same = refs::version(&tx, repository).await?.as_ref().is_some_and(is_same);
        if is_same {
            refs::end_hiding(&tx, repository).await?;
        }
        Ok::<_, Error>(is_same)
    });
    if ended.await? {
        context.copies.note_hidden(repository, (epoch, epoch + 1));
    }
    Ok(())
}

/// Returns the dropped packs of a repository whose files may be removed at `now_ms`, and which are not in its manifest.
async fn removable(context: &Context, repository: u64, now_ms: Millis) -> Result<BTreeSet<String>, Error> {
    let read = context.store.read().await?;
    let dropped = dropped_packs::all(&read, repository).await?;
    let named = pack_rows::all(&read, repository).await?;
    let due = dropped.into_iter().filter(|(name, row)| row.due_ms <= now_ms && !named.contains_key(name));
    Ok(due.map(|(name, _)| name).collect())
}

/// Removes the files of dropped packs that no process reads any more. Returns when the next ones are due.
pub async fn remove_due(context: &Context) -> Result<Option<Millis>, Error> {
    let mut failed = BTreeSet::new();
    loop {
        // The end of the backup wakes the task.
        if context.git.removals().is_held() {
            return Ok(None);
        }
        let now = context.now_ms();
        let first = dropped_packs::first_due(&context.store.read().await?, BATCH).await?;
        let due = first.iter().filter(|(at, repository, _)| *at <= now && !failed.contains(repository));
        let due: BTreeSet<u64> = due.map(|(_, repository, _)| *repository).collect();
        if due.is_empty() {
            let retry = (!failed.is_empty()).then(|| now.saturating_add(PAUSE_MS));
            let later = first.iter().map(|(at, ..)| *at).find(|at| *at > now);
            return Ok(later.into_iter().chain(retry).min());
        }
        for repository in due {
            if let Err(error) = remove_due_of(context, repository).await {
                let error = &error as &dyn StdError;
                tracing::warn!(repository, error, "files of packs that were replaced were not removed");
                failed.insert(repository);
            }
        }
    }
}

async fn remove_due_of(context: &Context, repository: u64) -> Result<(), Error> {
    let lock = context.git.lock(repository).await;
    let names = removable(context, repository, context.now_ms()).await?;
    if context.git.removals().is_held() {
        return Err(Error::Busy);
    }
    // The copies of several nodes hide and remove them on their own.
    if !context.copies.has_others() {
        context.git.remove_packs(repository, names.clone(), &lock).await.map_err(Error::git(DOING))?;
    }
    let names: Vec<String> = names.into_iter().collect();
    context.store.write(async |tx: Tx| Ok::<_, Error>(dropped_packs::forget(&tx, repository, &names).await?)).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{OwnerKind, StoredPack};

    use super::*;
    use crate::store::{Store, StoreError, engine::MemoryEngine};

    const ID: u64 = 7;

    fn packs(names: &[&str]) -> Packs {
        names.iter().map(|name| ((*name).to_owned(), StoredPack { bytes: 9, ..StoredPack::default() })).collect()
    }

    #[tokio::test]
    async fn a_manifest_is_current_while_it_has_the_packs_from_which_another_one_was_made() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let row = Repository {
            id: ID,
            name: "demo".into(),
            owner_kind: OwnerKind::User.into(),
            owner_id: 1,
            ..Repository::default()
        };
        let create = async |tx: Tx| {
            repositories::insert(&tx, &row).await?;
            refs::create(&tx, ID, false, true, &[]);
            Ok::<_, StoreError>(())
        };
        store.write(create).await.expect("rows");
        let basis = Basis { packs: packs(&["pack-1", "pack-2"]), epoch: 0, version: 1 };
        let of = async |objects| {
            let read = store.read().await.expect("a snapshot");
            is_current(&read, ID, &basis, objects).await.expect("rows")
        };
        let is_current = async || of(Objects::Stay).await;
        assert!(!is_current().await, "the repository has no manifest");
        let replace = async |names: &[&str]| {
            let packs = packs(names);
            store.write(async |tx: Tx| pack_rows::replace(&tx, ID, &packs.clone().into()).await).await.expect("rows");
        };
        replace(&["pack-1", "pack-2"]).await;
        assert!(is_current().await);
        replace(&["pack-1", "pack-2", "pack-3"]).await;
        assert!(is_current().await, "a push has added a pack");
        assert!(!of(Objects::Leave).await, "its objects may name those that leave");
        replace(&["pack-1", "pack-3"]).await;
        assert!(!is_current().await, "a pack was dropped");
        replace(&["pack-1", "pack-2"]).await;
        store.write(async |tx: Tx| refs::end_hiding(&tx, ID).await).await.expect("rows");
        assert!(!is_current().await, "objects were pruned");
        let later = Basis { packs: packs(&["pack-1"]), epoch: 1, version: 1 };
        let read = store.read().await.expect("a snapshot");
        assert!(super::is_current(&read, ID, &later, Objects::Stay).await.expect("rows"));
        assert!(
            !super::is_current(&read, ID + 1, &later, Objects::Stay).await.expect("rows"),
            "the repository was deleted"
        );
    }
}
