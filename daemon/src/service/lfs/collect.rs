//! Removes objects from repositories whose files have not named them for `lfs.keep_unreferenced_secs`.
//!
//! A search over all refs of a repository finds the objects that its small files name. Objects that were not found are
//! marked with the time. A later search clears the mark of those that it finds, and removes those that were marked for
//! long enough.
//!
//! Acknowledged data that this could remove: objects that clients have uploaded. What prevents it: before anything is
//! removed, the refs are read again under the lock of the repository, and what they reach beyond the first search is
//! searched as well. The transaction that removes objects fails if another node has moved a ref since. The files of
//! refs are compared with the rows first, and written again if they differ; a repository whose files still differ loses
//! nothing, nor does one whose search failed. An upload, and an answer to a client that the repository has the object,
//! clear the mark in a transaction, so a push in progress has at least that time to deliver the files.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    error::Error as StdError,
};

use farrier_proto::store::Repository;
use sha2::{Digest as _, Sha256};

use super::collection::{CollectionProgress, CollectionTask};
use crate::{
    clock::Millis,
    service::{Context, Error, migrations, ref_moves, tasks::TaskResult},
    store::{
        Tx,
        lfs::{
            Oid,
            unreferenced::{entries, remove, set_unreferenced},
        },
        refs, repositories,
    },
};

/// What git is doing, for errors.
const DOING: &str = "looking for files that name LFS objects";
/// Repositories to read per step.
const REPOSITORIES_AT_ONCE: usize = 256;
/// Rows of objects to read or write per step.
const ROWS_AT_ONCE: usize = 100;

/// The repositories in which the last search found a file for each object, with the SHA-256 of what it depended on.
#[derive(Debug, Default)]
pub struct Searched(BTreeMap<u64, [u8; 32]>);

/// The objects of one repository after a search.
#[derive(Debug, Default)]
struct Found {
    /// Named by a file, but marked.
    named: Vec<Oid>,
    /// Not named and not marked.
    unnamed: Vec<Oid>,
    /// Not named, and marked for long enough.
    due: Vec<Oid>,
    due_bytes: u64,
    /// All that are not named, and their size.
    count: u64,
    bytes: u64,
}

/// Searches all repositories that have objects, and records the figures and the result in `task`.
pub async fn collect(context: &Context, task: &CollectionTask, searched: &mut Searched) {
    let result = match search_all(context, task, searched).await {
        Ok(()) if task.cancel.is_cancelled() => TaskResult::Cancelled,
        Ok(()) => match task.progress().failed {
            0 => TaskResult::Done,
            failed => {
                TaskResult::Failed(format!("repositories that were not searched: {failed}; the log has the reasons"))
            }
        },
        Err(error) => {
            let source = &error as &dyn StdError;
            tracing::warn!(error = source, "looking for unused LFS objects failed and will be tried again in a day");
            TaskResult::Failed(error.to_string())
        }
    };
    task.record_end(result, context.now_ms());
}

/// Searches the repositories one after the other. Those that have not changed since a search that found all objects are
/// skipped. A failure is logged, and the repository is searched again the next time.
async fn search_all(context: &Context, task: &CollectionTask, searched: &mut Searched) -> Result<(), Error> {
    let mut after = 0;
    loop {
        let rows = repositories::after_id(&context.store.read().await?, after, REPOSITORIES_AT_ONCE).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.id;
        for row in rows.iter().filter(|row| row.lfs_size > 0 && !row.deleted && migrations::pending(row).is_none()) {
            if task.cancel.is_cancelled() {
                return Ok(());
            }
            let ended = search(context, task, row, searched).await;
            let failed = u64::from(ended.is_err());
            task.add(CollectionProgress { repositories: 1, failed, ..CollectionProgress::default() });
            if let Err(error) = ended {
                let error = &error as &dyn StdError;
                tracing::warn!(repository = row.id, error, "the LFS objects of a repository were not searched");
            }
        }
    }
}

async fn search(
    context: &Context,
    task: &CollectionTask,
    row: &Repository,
    searched: &mut Searched,
) -> Result<(), Error> {
    context.copies.current(row.id).await?;
    // Only the reading is cancelled, which takes long. What follows changes rows.
    let Some(before) = task.cancel.run_until_cancelled(context.git.ref_ids(row.id)).await else { return Ok(()) };
    let before = before.map_err(Error::git(DOING))?;
    let state = state(&before, row.lfs_size);
    if searched.0.get(&row.id) == Some(&state) {
        return Ok(());
    }
    searched.0.remove(&row.id);
    let nothing_known = BTreeSet::new();
    let walk = context.git.lfs_objects(row.id, &before, &nothing_known);
    let Some(named) = task.cancel.run_until_cancelled(walk).await else { return Ok(()) };
    let named = named.map_err(Error::git(DOING))?;
    // Read once: a reload may change it.
    let (now, keep) = (context.now_ms(), context.config.lfs.keep_unreferenced);
    let keep_ms = Millis::try_from(keep.as_millis()).unwrap_or(Millis::MAX);
    let until = if keep.is_zero() { Millis::MIN } else { now.saturating_sub(keep_ms) };
    let found = compare(context, row.id, &named, until).await?;
    let Found { count, bytes, due_bytes, .. } = found;
    task.add(CollectionProgress { unreferenced: count, unreferenced_bytes: bytes, ..CollectionProgress::default() });
    if task.dry_run {
        let removed = found.due.len() as u64;
        task.add(CollectionProgress { removed, removed_bytes: due_bytes, ..CollectionProgress::default() });
        return Ok(());
    }
    mark(context, row.id, &found.named, 0).await?;
    mark(context, row.id, &found.unnamed, now).await?;
    if count == 0 {
        searched.0.insert(row.id, state);
        return Ok(());
    }
    let (removed, removed_bytes) = remove_due(context, row.id, &before, found.due, until).await?;
    task.add(CollectionProgress { removed, removed_bytes, ..CollectionProgress::default() });
    tracing::info!(repository = row.id, count, bytes, removed, removed_bytes, "no file names these LFS objects");
    Ok(())
}

/// Returns the SHA-256 of what a search depends on.
fn state(refs: &BTreeSet<String>, lfs_size: u64) -> [u8; 32] {
    let hash = Sha256::new().chain_update(lfs_size.to_be_bytes());
    refs.iter().fold(hash, |hash, id| hash.chain_update(id).chain_update("\n")).finalize().into()
}

async fn compare(context: &Context, repository: u64, named: &HashSet<Oid>, until: Millis) -> Result<Found, Error> {
    let (mut found, mut after) = (Found::default(), None);
    loop {
        let read = context.store.read().await?;
        let (rows, next) = entries(&read, repository, after.as_ref(), ROWS_AT_ONCE).await?;
        for (oid, row) in rows {
            if named.contains(&oid) {
                if row.unreferenced_ms != 0 {
                    found.named.push(oid);
                }
                continue;
            }
            found.count += 1;
            found.bytes = found.bytes.saturating_add(row.size);
            match row.unreferenced_ms {
                0 => found.unnamed.push(oid),
                since if since <= until => {
                    found.due.push(oid);
                    found.due_bytes = found.due_bytes.saturating_add(row.size);
                }
                _ => {}
            }
        }
        match next {
            Some(next) => after = Some(next),
            None => return Ok(found),
        }
    }
}

/// Sets since when no file names the objects.
async fn mark(context: &Context, repository: u64, oids: &[Oid], since: Millis) -> Result<(), Error> {
    for oids in oids.chunks(ROWS_AT_ONCE) {
        let written = context.store.write(async |tx: Tx| {
            for oid in oids {
                set_unreferenced(&tx, repository, oid, since).await?;
            }
            Ok::<_, Error>(())
        });
        written.await?;
    }
    Ok(())
}

/// Removes those of `due` that no ref reaches now. `before`: what the refs pointed to in the search that did not find
/// them. Returns their number and size.
async fn remove_due(
    context: &Context,
    repository: u64,
    before: &BTreeSet<String>,
    due: Vec<Oid>,
    until: Millis,
) -> Result<(u64, u64), Error> {
    if due.is_empty() {
        return Ok((0, 0));
    }
    // First without the lock, because the first search may have taken long and pushes wait for the lock.
    let between = context.git.ref_ids(repository).await.map_err(Error::git(DOING))?;
    let mut named = context.git.lfs_objects(repository, &between, before).await.map_err(Error::git(DOING))?;
    // While it is held, this node moves no ref.
    let lock = context.git.lock(repository).await;
    let lock = ref_moves::require_files(context, repository, lock).await?;
    // The version of the files: the lock does not keep other nodes from moving refs.
    let version = context.copies.current_locked(repository, &lock).await?;
    let now_refs = context.git.ref_ids(repository).await.map_err(Error::git(DOING))?;
    named.extend(context.git.lfs_objects(repository, &now_refs, &between).await.map_err(Error::git(DOING))?);
    let due: Vec<Oid> = due.into_iter().filter(|oid| !named.contains(oid)).collect();
    let (now, mut removed) = (context.now_ms(), (0, 0_u64));
    for oids in due.chunks(ROWS_AT_ONCE) {
        let remove = async |tx: Tx| {
            if refs::version(&tx, repository).await?.is_none_or(|now| now.version != version) {
                return Err(Error::Conflict { reason: "the refs of the repository moved during the search".into() });
            }
            Ok(remove(&tx, repository, oids, until, now).await?)
        };
        let (count, bytes) = context.store.write(remove).await?;
        removed = (removed.0 + count, removed.1.saturating_add(bytes));
    }
    if removed.0 > 0 {
        // Their bytes are due in a day.
        context.sweep.now();
    }
    drop(lock);
    Ok(removed)
}
