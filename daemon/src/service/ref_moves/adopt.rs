//! Adopts repositories that an earlier release wrote: compares the files of their refs with the rows, once.
//!
//! In the data of earlier releases the files of refs decide: such a release moved refs with git and recorded them
//! afterwards. A push mark says that a push may not be recorded. [`adopt`] records differences with their events.
//! Afterwards the rows decide.
//!
//! Acknowledged data that this could lose: a branch or tag whose file was lost. If no push mark says that a push may
//! have deleted it, and the repository still has its object, the row stays, and the file is written again. A directory
//! that cannot be read, or in which git ignores a ref, is not adopted, and nothing changes. The same holds if a ref
//! cannot become a row, and if the object of a lost ref is missing.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error as StdError,
};

use farrier_proto::store::{PushMark, Repository, RepositoryVersion};

use super::{
    Pusher,
    changes::{Change, find_change},
    found::{FoundChanges, record_found},
};
use crate::{
    git::{
        RepositoryLock, TipKind,
        ref_name::{self, NAME_MAX_BYTES},
    },
    service::{Context, Error, migrations, packs},
    store::{
        Read, StoreError, Tx,
        refs::{self, Ref},
        repositories,
    },
};

/// The operation that errors of git name.
const DOING: &str = "comparing the refs of a repository with their rows";
/// Number of rows to read or write at a time.
const PAGE: usize = 1_000;
/// Number of objects whose kind is read at a time.
const OBJECTS_AT_ONCE: usize = 10_000;
/// Number of repositories to read at a time.
const REPOSITORIES_AT_ONCE: usize = 200;

/// Makes the rows of a repository decide, if an earlier release wrote the repository. Does nothing otherwise.
///
/// Differences are recorded with their events, in the name of the account in the push mark. A call that was interrupted
/// can be repeated: what was recorded does not differ any more. After an error the files of refs decide as before.
pub(super) async fn adopt(context: &Context, repository: u64, lock: &RepositoryLock) -> Result<(), Error> {
    let snapshot = context.store.read().await?;
    if !is_from_disk(refs::version(&snapshot, repository).await?.as_ref()) {
        return Ok(());
    }
    let marks: Vec<(u64, PushMark)> = marks_of(&snapshot, repository).await?;
    let stored = stored(&snapshot, repository).await?;
    drop(snapshot);
    // No process of this release creates such directories, so all of them are from an earlier release.
    let quarantines = context.git.quarantines(repository).await.map_err(Error::git("looking for leftovers"))?;
    context.git.clean(repository, quarantines, lock).await.map_err(Error::git("removing leftovers"))?;
    let mut tips = tips(context, repository).await?;
    if marks.is_empty() {
        keep_lost(context, repository, &stored, &mut tips).await?;
    }
    let names: BTreeSet<&String> = stored.keys().chain(tips.keys()).collect();
    let known = |name: &String| stored.get(name).map(|stored| stored.tip.as_str());
    let changes: Vec<Change> = names
        .into_iter()
        .filter_map(|name| find_change(name, known(name), tips.get(name).map(String::as_str)))
        .collect();
    let ids: Vec<String> = tips.values().collect::<BTreeSet<_>>().into_iter().cloned().collect();
    let peeled = context.git.peeled_tips(repository, &ids).await.map_err(Error::git(DOING))?;
    set_peeled(context, repository, &stored, &tips, &peeled).await?;
    // Backups of earlier releases have marks without an account.
    let mark = marks.iter().map(|(_, mark)| mark).find(|mark| mark.actor_id != 0);
    let pusher = mark.map(|mark| Pusher { actor: mark.actor_id, key: mark.key.clone() });
    let numbers: Vec<u64> = marks.iter().map(|(number, _)| *number).collect();
    let found = FoundChanges { changes: &changes, peeled: &peeled, marks: &numbers };
    let version = record_found(context, repository, &pusher.unwrap_or_default(), &found, lock).await?;
    if version.is_none() {
        return Ok(());
    }
    tracing::info!(
        repository,
        changes = changes.len(),
        "a repository of an earlier release was adopted; its rows of refs decide now"
    );
    // Rewrites all files, because those of lost refs are missing. `farrier-copy` may name a version of these rows, if
    // `check-data --adopt` could not read the refs.
    if let Err(error) = context.copies.rewrite_locked(repository, lock).await {
        let error = &error as &dyn StdError;
        tracing::warn!(repository, error, "files of refs were not written; the next use tries again");
    }
    Ok(())
}

/// Ensures that the files of all refs have the values of the rows, while `lock`, that of the repository, is held.
/// Called before git decides which objects are needed: if a ref was lost or is older than the value that a client
/// received, git would treat acknowledged commits as unreachable. Files that differ are written again. Fails if they
/// still differ afterwards. Returns the lock.
pub async fn require_files(context: &Context, repository: u64, lock: RepositoryLock) -> Result<RepositoryLock, Error> {
    let task_context = context.clone();
    // Continues if the caller is dropped: files must not be written after the lock was released.
    let work = async move {
        write_differing(&task_context, repository, &lock).await?;
        Ok::<_, Error>(lock)
    };
    context.tasks.carry(work).await
}

async fn write_differing(context: &Context, repository: u64, lock: &RepositoryLock) -> Result<(), Error> {
    adopt(context, repository, lock).await?;
    context.copies.current_locked(repository, lock).await?;
    match differing_refs(context, repository).await {
        Ok(differing) if differing.is_empty() => return Ok(()),
        Ok(differing) => {
            let differing = differing.len();
            tracing::warn!(repository, differing, "files of refs differ from the rows and are written again");
        }
        Err(error) => {
            let error = &error as &dyn StdError;
            tracing::warn!(repository, error, "files of refs cannot be read and are written again");
        }
    }
    context.copies.rewrite_locked(repository, lock).await?;
    match differing_refs(context, repository).await?.first() {
        None => Ok(()),
        Some(name) => Err(Error::Conflict { reason: format!("{name} differs from its row; run check-data") }),
    }
}

/// Returns the names of the refs whose files do not have the values of the rows.
async fn differing_refs(context: &Context, repository: u64) -> Result<Vec<String>, Error> {
    let stored = stored(&context.store.read().await?, repository).await?;
    let tips = stored.into_iter().map(|(name, stored)| (name, stored.tip)).collect();
    context.git.differing_refs(repository, &tips).await.map_err(Error::git(DOING))
}

/// Adopts the repositories with push marks. Called at the start, so that the events of interrupted pushes are recorded
/// soon.
pub async fn adopt_marked(context: Context) {
    let marked = match marked(&context).await {
        Ok(marked) => marked,
        Err(error) => {
            tracing::error!(error = &error as &dyn StdError, "interrupted pushes could not be listed");
            return;
        }
    };
    for repository in marked {
        if context.tasks.stop().is_cancelled() {
            return;
        }
        if adopt_one(&context, repository).await
            && let Err(error) = forget_marks(&context, repository).await
        {
            tracing::warn!(repository, error = &error as &dyn StdError, "a push mark could not be removed");
        }
    }
}

/// Adopts all repositories that an earlier release wrote, one after the other, and writes the missing manifests.
/// Returns whether all refs were adopted. Repositories that cannot be adopted are logged.
pub async fn adopt_all(context: &Context) -> Result<bool, Error> {
    let (mut after, mut is_complete) = (None, true);
    loop {
        let snapshot = context.store.read().await?;
        let (page, next) = repositories::batch(&snapshot, after.as_deref(), REPOSITORIES_AT_ONCE).await?;
        let mut due = Vec::new();
        // Repositories that were deleted permanently, or whose import has not succeeded, are skipped: their files are
        // removed.
        let has_files = |row: &&Repository| migrations::pending(row).is_none() && (!row.deleted || row.deleted_ms != 0);
        for row in page.iter().filter(has_files) {
            let version = refs::version(&snapshot, row.id).await?;
            if version.is_some_and(|version| version.from_disk || !version.has_manifest) {
                due.push(row.id);
            }
        }
        drop(snapshot);
        for repository in due {
            is_complete &= adopt_one(context, repository).await;
        }
        after = next;
        if after.is_none() {
            return Ok(is_complete);
        }
    }
}

/// Returns whether the files of refs decide, because an earlier release wrote the repository.
fn is_from_disk(version: Option<&RepositoryVersion>) -> bool {
    version.is_some_and(|version| version.from_disk)
}

/// Adopts a repository. Returns `false` after logging an error.
async fn adopt_one(context: &Context, repository: u64) -> bool {
    let task_context = context.clone();
    // Continues if the caller is dropped: files must not be written after the lock was released.
    let adopted = context.tasks.carry(async move {
        let lock = task_context.git.lock(repository).await;
        adopt(&task_context, repository, &lock).await?;
        packs::try_adopt(&task_context, repository, &lock).await;
        Ok::<_, Error>(())
    });
    match adopted.await {
        Ok(()) => true,
        Err(error) => {
            tracing::error!(
                repository,
                error = &error as &dyn StdError,
                "a repository of an earlier release could not be adopted; it takes no pushes until it is, which is \
                 tried again every day"
            );
            false
        }
    }
}

async fn marked(context: &Context) -> Result<BTreeSet<u64>, StoreError> {
    let marks = refs::marks(&context.store.read().await?).await?;
    Ok(marks.into_iter().map(|(repository, ..)| repository).collect())
}

/// Returns the push marks of a repository with their numbers.
async fn marks_of(read: &impl Read, repository: u64) -> Result<Vec<(u64, PushMark)>, StoreError> {
    let marks = refs::marks(read).await?.into_iter().filter(|(of, ..)| *of == repository);
    Ok(marks.map(|(_, number, mark)| (number, mark)).collect())
}

/// Removes the marks of a repository whose files of refs do not decide, for example because it was deleted.
async fn forget_marks(context: &Context, repository: u64) -> Result<(), Error> {
    context
        .store
        .write(async |tx: Tx| {
            if !is_from_disk(refs::version(&tx, repository).await?.as_ref()) {
                for (number, _) in marks_of(&tx, repository).await? {
                    refs::unmark(&tx, repository, number);
                }
            }
            Ok::<_, Error>(())
        })
        .await
}

/// Returns the rows of all refs of a repository.
async fn stored(read: &impl Read, repository: u64) -> Result<BTreeMap<String, Ref>, StoreError> {
    let mut stored: BTreeMap<String, Ref> = BTreeMap::new();
    loop {
        let last = stored.last_key_value().map(|(name, _)| name.clone());
        let page = refs::page(read, repository, last.as_deref(), PAGE).await?;
        if page.is_empty() {
            return Ok(stored);
        }
        stored.extend(page);
    }
}

/// Returns the refs in the directory with their object ids, without those that only the daemon may write.
async fn tips(context: &Context, repository: u64) -> Result<BTreeMap<String, String>, Error> {
    let mut tips = context.git.every_ref(repository).await.map_err(Error::git(DOING))?;
    tips.retain(|name, _| !ref_name::is_internal(name));
    // Without a row, such a ref would be lost when the files are written again, and its commits with it.
    if let Some(name) = tips.keys().find(|name| name.len() > NAME_MAX_BYTES) {
        let reason = format!("the name of the ref {name} is too long; rename it with git in the directory");
        return Err(Error::Conflict { reason });
    }
    Ok(tips)
}

/// Adds the refs to `tips` that have a row and no file. Fails if the repository lacks the object of one of them, so
/// that the row still shows what was lost.
async fn keep_lost(
    context: &Context,
    repository: u64,
    stored: &BTreeMap<String, Ref>,
    tips: &mut BTreeMap<String, String>,
) -> Result<(), Error> {
    let lost: Vec<(&String, &Ref)> = stored.iter().filter(|(name, _)| !tips.contains_key(*name)).collect();
    let ids: Vec<String> = lost.iter().map(|(_, lost)| lost.tip.clone()).collect();
    let kinds = kinds(context, repository, &ids).await?;
    for (name, lost) in lost {
        if !kinds.contains_key(&lost.tip) {
            let reason = format!(
                "{name} was recorded at {}, and neither the ref nor the object is on disk; copy the missing files from \
                 a backup, or accept the refs on disk with check-data --adopt",
                lost.tip
            );
            return Err(Error::Conflict { reason });
        }
        if !has_name_in_the_way(tips, name) {
            tracing::warn!(repository, name, "the file of a ref was missing and is written again");
            tips.insert(name.clone(), lost.tip.clone());
        }
    }
    Ok(())
}

/// Returns whether a ref cannot exist beside those in `tips`, because one name is a directory of the other.
fn has_name_in_the_way(tips: &BTreeMap<String, String>, name: &str) -> bool {
    let below = format!("{name}/");
    let is_directory = tips.range(below.clone()..).next().is_some_and(|(first, _)| first.starts_with(&below));
    is_directory || name.match_indices('/').any(|(at, _)| tips.contains_key(&name[..at]))
}

/// Returns the kinds of those objects that the repository has.
async fn kinds(context: &Context, repository: u64, ids: &[String]) -> Result<BTreeMap<String, TipKind>, Error> {
    let mut kinds = BTreeMap::new();
    for ids in ids.chunks(OBJECTS_AT_ONCE) {
        let some = context.git.kinds(repository, None, ids).await.map_err(Error::git(DOING))?;
        kinds.extend(ids.iter().zip(some).filter_map(|(id, kind)| Some((id.clone(), kind?))));
    }
    Ok(kinds)
}

/// Adds to the rows of refs that have not moved the objects to which their tag objects lead, which earlier releases did
/// not record. The version stays the same: no copy has a version before the rows decide.
async fn set_peeled(
    context: &Context,
    repository: u64,
    stored: &BTreeMap<String, Ref>,
    tips: &BTreeMap<String, String>,
    peeled: &BTreeMap<String, String>,
) -> Result<(), Error> {
    let tags: Vec<(&String, Ref)> = stored
        .iter()
        .filter(|(name, stored)| tips.get(*name) == Some(&stored.tip) && stored.peeled.is_none())
        .filter_map(|(name, stored)| {
            Some((name, Ref { tip: stored.tip.clone(), peeled: Some(peeled.get(&stored.tip)?.clone()) }))
        })
        .collect();
    for tags in tags.chunks(PAGE) {
        let written = context.store.write(async |tx: Tx| {
            for (name, tag) in tags {
                refs::set(&tx, repository, name, Some(tag));
            }
            Ok::<_, Error>(())
        });
        written.await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_ref_is_not_kept_beside_a_ref_whose_name_is_a_directory_of_it() {
        let found = ["refs/heads/a/b", "refs/heads/c"].map(|name| (name.to_owned(), "1".repeat(40)));
        let found = BTreeMap::from(found);
        for (name, expected) in [
            ("refs/heads/a", true),
            ("refs/heads/c/d/e", true),
            ("refs/heads/a/c", false),
            ("refs/heads/a0", false),
            ("refs/heads/d", false),
        ] {
            assert_eq!(has_name_in_the_way(&found, name), expected, "{name}");
        }
    }
}
