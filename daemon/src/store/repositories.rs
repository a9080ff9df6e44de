//! Repositories: rows, names below their owner, where renamed ones went, collaborators.
//!
//! [`put`] is the one place that knows which index entries a row has; lists of them are read in
//! [`super::listings`].

mod deleted;

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{
    Collaborator, Listing, MigrationState, Permission, RefTip, Reference, Repository, Visibility,
};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
    listings::Sort,
    owners,
};

pub use self::deleted::{deleted_until, first_deleted_ms, newest_deleted, restore, set_deleted, with_jobs_to_cancel};

/// The repository with number `id`, also a deleted one.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Repository>, StoreError> {
    read.get(&keys::repository(id)).await
}

/// The repository `name` of the owner with number `owner`, in any case.
pub async fn by_name(read: &impl Read, owner: u64, name: &str) -> Result<Option<Repository>, StoreError> {
    match read.get::<Reference>(&keys::repository_name(owner, name)).await? {
        Some(found) => get(read, found.id).await,
        None => Ok(None),
    }
}

/// The repository called `owner`/`name`, in any case.
pub async fn by_path(read: &impl Read, owner: &str, name: &str) -> Result<Option<Repository>, StoreError> {
    match owners::by_name(read, owner).await? {
        Some(owner) => by_name(read, owner.id, name).await,
        None => Ok(None),
    }
}

/// The repository that was once called `name` below `owner`.
pub async fn redirected(read: &impl Read, owner: u64, name: &str) -> Result<Option<Repository>, StoreError> {
    match read.get::<Reference>(&keys::repository_redirect(owner, name)).await? {
        Some(found) => Ok(get(read, found.id).await?.filter(|row| !row.deleted)),
        None => Ok(None),
    }
}

/// Whether `row` keeps its name from others. A migration that failed does not: the same request
/// must be able to succeed.
fn holds_name(row: &Repository) -> bool {
    !row.deleted && row.migration.as_ref().is_none_or(|migration| migration.state() != MigrationState::Failed)
}

/// Whether the owner of `row` has another one of its name.
pub async fn is_taken(read: &impl Read, row: &Repository) -> Result<bool, StoreError> {
    let other = by_name(read, row.owner_id, &row.name).await?;
    Ok(other.is_some_and(|other| other.id != row.id && holds_name(&other)))
}

/// Records where refs of a repository are, so that nobody takes them for news.
pub fn put_tips(tx: &Tx, repository: u64, tips: &[(String, String)]) {
    for (name, object_id) in tips {
        tx.put(keys::ref_tip(repository, name), &RefTip { object_id: object_id.clone() });
    }
}

/// Inserts `row`; `false` when its owner has one of that name. What is left of a failed migration
/// of that name goes.
pub async fn insert(tx: &Tx, row: &Repository) -> Result<bool, StoreError> {
    if let Some(other) = by_name(tx, row.owner_id, &row.name).await? {
        if holds_name(&other) {
            return Ok(false);
        }
        discard(tx, &other).await?;
    }
    tx.delete(keys::repository_redirect(row.owner_id, &row.name));
    put(tx, None, row);
    Ok(true)
}

/// Gives `row` the name that it has now instead of `before`'s; `false` when the owner has another
/// repository of that name. The old name leads to the new one from now on.
pub async fn rename(tx: &Tx, before: &Repository, row: &Repository) -> Result<bool, StoreError> {
    match by_name(tx, row.owner_id, &row.name).await? {
        Some(other) if other.id == row.id => {}
        Some(other) if holds_name(&other) => return Ok(false),
        Some(other) => discard(tx, &other).await?,
        None => {}
    }
    put(tx, Some(before), row);
    tx.put(keys::repository_redirect(before.owner_id, &before.name), &Reference { id: row.id });
    tx.delete(keys::repository_redirect(row.owner_id, &row.name));
    Ok(true)
}

/// Writes `row` and brings the indexes from what `before` needed to what `row` needs. Entries that
/// stay the same are not touched.
pub fn put(tx: &Tx, before: Option<&Repository>, row: &Repository) {
    let old = before.map(references).unwrap_or_default();
    let new = references(row);
    for key in old.difference(&new) {
        tx.delete(key.clone());
    }
    for key in new.difference(&old) {
        tx.put(key.clone(), &Reference { id: row.id });
    }
    let old = before.map(listings).unwrap_or_default();
    let new = listings(row);
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        tx.delete(key.clone());
    }
    for (key, listing) in &new {
        if old.get(key) != Some(listing) {
            tx.put(key.clone(), listing);
        }
    }
    tx.put(keys::repository(row.id), row);
}

/// Deletes `row` for good: the sweep removes its files, then the row. Nothing restores it any more, so
/// callers must know that its retention is over or that nobody ever used the repository.
pub async fn discard(tx: &Tx, row: &Repository) -> Result<(), StoreError> {
    let gone = Repository { deleted: true, deleted_ms: 0, cancel_jobs: false, ..row.clone() };
    put(tx, Some(row), &gone);
    for (user, _) in collaborators(tx, row.id, usize::MAX).await? {
        set_collaborator(tx, row.id, user, Permission::None);
    }
    Ok(())
}

/// Forgets a deleted repository whose files are gone, and where its branches and tags were.
pub async fn forget(tx: &Tx, row: &Repository) -> Result<(), StoreError> {
    for (key, _) in tx.scan_bytes(&Scan::of(Range::prefix(keys::ref_tips(row.id)), usize::MAX)).await? {
        tx.delete(key);
    }
    tx.delete(keys::repository_garbage(row.id));
    tx.delete(keys::repository(row.id));
    Ok(())
}

/// Deleted repositories that have files, at most `limit`.
pub async fn garbage(read: &impl Read, limit: usize) -> Result<Vec<Repository>, StoreError> {
    rows_under(read, keys::repositories_garbage(), limit).await
}

/// Migrations that run, or ran when the daemon was killed.
pub async fn migrating(read: &impl Read, limit: usize) -> Result<Vec<Repository>, StoreError> {
    rows_under(read, keys::migrations(), limit).await
}

async fn rows_under(read: &impl Read, prefix: Key, limit: usize) -> Result<Vec<Repository>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(Range::prefix(prefix), limit)).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect();
    many(read, &ids).await
}

/// The repositories with these numbers, in their order; those that do not exist are left out.
pub async fn many(read: &impl Read, ids: &[u64]) -> Result<Vec<Repository>, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::repository(*id)).collect();
    Ok(read.get_many(&keys).await?.into_iter().flatten().collect())
}

/// Repositories with a number above `after` that are not being deleted, at most `limit`, by number.
pub async fn behind(read: &impl Read, after: u64, limit: usize) -> Result<Vec<Repository>, StoreError> {
    let mut rows = Vec::new();
    let mut after = after;
    while rows.len() < limit {
        let range = Range::prefix(keys::repositories()).after(&keys::repository(after));
        let piece: Vec<(Key, Repository)> = read.scan(&Scan::of(range, limit)).await?;
        let Some((_, last)) = piece.last() else { break };
        after = last.id;
        rows.extend(piece.into_iter().map(|(_, row)| row).filter(|row| !row.deleted));
    }
    rows.truncate(limit);
    Ok(rows)
}

/// A piece of all repositories by number, also deleted ones, and where the next one begins. What
/// cannot be read is left out.
pub async fn piece(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<Repository>, Option<Key>), StoreError> {
    read.readable(Range::prefix(keys::repositories()), after, limit).await
}

/// The newest repositories of `owner`, or of all, at most `limit`.
pub async fn newest(read: &impl Read, owner: Option<u64>, limit: usize) -> Result<Vec<Repository>, StoreError> {
    let range = Range::prefix(owner.map_or_else(keys::repositories, keys::owner_repositories));
    let pairs = read.scan_bytes(&Scan { reverse: true, ..Scan::of(range, limit) }).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect();
    many(read, &ids).await
}

/// How many repositories an owner has, counted up to `cap`.
pub async fn count_of(read: &impl Read, owner: u64, cap: u64) -> Result<u64, StoreError> {
    read.count(&Range::prefix(keys::owner_repositories(owner)), cap).await
}

/// The class under which lists have a repository of an owner with this visibility.
pub fn class(owner: Visibility, private: bool) -> Visibility {
    if private { Visibility::Private } else { owner }
}

/// Moves all repositories of `owner` to the class that its visibility is now.
pub async fn relist(tx: &Tx, owner: u64, visibility: Visibility) -> Result<(), StoreError> {
    for before in rows_under(tx, keys::owner_repositories(owner), usize::MAX).await? {
        let listed = class(visibility, before.private).into();
        if before.listed != listed {
            put(tx, Some(&before), &Repository { listed, ..before.clone() });
        }
    }
    Ok(())
}

/// Keys that refer to `row`.
pub(super) fn references(row: &Repository) -> BTreeSet<Key> {
    if row.deleted && row.deleted_ms == 0 {
        return [keys::repository_garbage(row.id)].into();
    }
    if row.deleted {
        let jobs = row.cancel_jobs.then(|| keys::repository_jobs_to_cancel(row.id));
        return [keys::deleted_repository(row.deleted_ms, row.id)].into_iter().chain(jobs).collect();
    }
    let mut all =
        BTreeSet::from([keys::repository_name(row.owner_id, &row.name), keys::owner_repository(row.owner_id, row.id)]);
    if row.migration.as_ref().is_some_and(|migration| migration.state() == MigrationState::Running) {
        all.insert(keys::migration(row.id));
    }
    all.extend(trigrams(&row.name).into_iter().map(|trigram| keys::trigram(trigram, row.id)));
    all
}

/// Entries of `row` in sorted lists.
pub(super) fn listings(row: &Repository) -> BTreeMap<Key, Listing> {
    if row.deleted {
        return BTreeMap::new();
    }
    let listing =
        Listing { name: row.name.to_lowercase(), private: row.private, template: row.template, archived: row.archived };
    let places = [0, row.owner_id].into_iter().flat_map(|scope| Sort::ALL.map(|sort| (scope, sort)));
    places.map(|(scope, sort)| (keys::listing(scope, sort, row), listing.clone())).collect()
}

/// Every run of three bytes of a name in lower case. Names are ASCII.
pub fn trigrams(name: &str) -> BTreeSet<[u8; 3]> {
    name.to_lowercase().as_bytes().windows(3).filter_map(|window| window.try_into().ok()).collect()
}

/// What `user` may do as a collaborator.
pub async fn collaborator(read: &impl Read, repository: u64, user: u64) -> Result<Permission, StoreError> {
    let row = read.get::<Collaborator>(&keys::collaborator(repository, user)).await?;
    Ok(row.map_or(Permission::None, |row| row.permission()))
}

/// Lets `user` do so much, or nothing, as a collaborator.
pub fn set_collaborator(tx: &Tx, repository: u64, user: u64, permission: Permission) {
    for key in [keys::collaborator(repository, user), keys::collaboration(user, repository)] {
        match permission {
            Permission::None => tx.delete(key),
            _ => tx.put(key, &Collaborator { permission: permission.into() }),
        }
    }
}

/// Collaborators of a repository by number, at most `limit`.
pub async fn collaborators(
    read: &impl Read,
    repository: u64,
    limit: usize,
) -> Result<Vec<(u64, Permission)>, StoreError> {
    let pairs = read.scan::<Collaborator>(&Scan::of(Range::prefix(keys::collaborators(repository)), limit)).await?;
    Ok(pairs.iter().filter_map(|(key, row)| Some((keys::trailing_id(key)?, row.permission()))).collect())
}

/// The repositories on which `user` is a collaborator, without deleted ones.
pub async fn collaborations(read: &impl Read, user: u64) -> Result<Vec<Repository>, StoreError> {
    let mut rows = rows_under(read, keys::collaborations(user), usize::MAX).await?;
    rows.retain(|row| !row.deleted);
    Ok(rows)
}
