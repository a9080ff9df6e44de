//! Repository rows, their names and redirects, and collaborators.
//!
//! Only [`put`] and the functions that it calls determine the index entries of a row. Sorted lists are read in
//! [`super::listings`].

mod deleted;
pub mod forks;
pub mod offers;
pub mod orders;

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{Collaborator, Listing, MigrationState, Permission, Reference, Repository, Visibility};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
    listings::Sort,
    owners, refs, teams,
};

pub use self::deleted::{deleted_until, first_deleted_ms, newest_deleted, restore, set_deleted, with_jobs_to_cancel};

/// Returns the repository with id `id`, even if it is deleted.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Repository>, StoreError> {
    read.get(&keys::repository(id)).await
}

/// Returns the repository `name` of the owner `owner`, without regard to case.
pub async fn by_name(read: &impl Read, owner: u64, name: &str) -> Result<Option<Repository>, StoreError> {
    match read.get::<Reference>(&keys::repository_name(owner, name)).await? {
        Some(found) => get(read, found.id).await,
        None => Ok(None),
    }
}

/// Returns the repository `owner`/`name`, without regard to case.
pub async fn by_path(read: &impl Read, owner: &str, name: &str) -> Result<Option<Repository>, StoreError> {
    match owners::by_name(read, owner).await? {
        Some(owner) => by_name(read, owner.id, name).await,
        None => Ok(None),
    }
}

/// Returns the repository to which the old name `name` of `owner` redirects.
pub async fn redirected(read: &impl Read, owner: u64, name: &str) -> Result<Option<Repository>, StoreError> {
    match read.get::<Reference>(&keys::repository_redirect(owner, name)).await? {
        Some(found) => Ok(get(read, found.id).await?.filter(|row| !row.deleted)),
        None => Ok(None),
    }
}

/// Returns whether other repositories cannot use the name of `row`. A failed migration does not reserve its
/// name, so that the same request can be repeated.
fn holds_name(row: &Repository) -> bool {
    !row.deleted && row.migration.as_ref().is_none_or(|migration| migration.state() != MigrationState::Failed)
}

/// Returns whether another repository of the owner uses the name of `row`.
pub async fn name_in_use(read: &impl Read, row: &Repository) -> Result<bool, StoreError> {
    let other = by_name(read, row.owner_id, &row.name).await?;
    Ok(other.is_some_and(|other| other.id != row.id && holds_name(&other)))
}

/// Inserts a repository. Returns `false` if its owner has another one with this name. A failed migration with
/// this name is discarded.
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

/// Renames a repository or moves it to another owner, as `row` says, and adds a redirect from the old name in `before`.
/// Returns `false` if the owner has another repository with the new name.
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

/// Writes `row` and updates its index entries. `before` is the stored row, if there is one. Unchanged index
/// entries are not written.
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

/// Deletes a repository permanently: the sweep removes its files and then the row. It cannot be restored, so
/// callers ensure that its retention is over or that it was never used.
pub async fn discard(tx: &Tx, row: &Repository) -> Result<(), StoreError> {
    let discarded = Repository { deleted: true, deleted_ms: 0, cancel_jobs: false, ..row.clone() };
    put(tx, Some(row), &discarded);
    for (user, _) in collaborators(tx, row.id, usize::MAX).await? {
        set_collaborator(tx, row.id, user, Permission::None);
    }
    teams::remove_repository(tx, row.id).await
}

/// Deletes the row and the refs of a repository whose files were removed.
pub async fn forget(tx: &Tx, row: &Repository) -> Result<(), StoreError> {
    refs::forget_some(tx, row.id, usize::MAX).await?;
    tx.delete(keys::repository_garbage(row.id));
    tx.delete(keys::repository(row.id));
    Ok(())
}

/// Returns deleted repositories whose files must be removed, at most `limit`.
pub async fn garbage(read: &impl Read, limit: usize) -> Result<Vec<Repository>, StoreError> {
    rows_under(read, keys::repositories_garbage(), limit).await
}

/// Returns repositories with a migration that runs or ran when the daemon was killed.
pub async fn migrating(read: &impl Read, limit: usize) -> Result<Vec<Repository>, StoreError> {
    rows_under(read, keys::migrations(), limit).await
}

async fn rows_under(read: &impl Read, prefix: Key, limit: usize) -> Result<Vec<Repository>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(Range::prefix(prefix), limit)).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect();
    many(read, &ids).await
}

/// Returns the repositories with a topic, in any order.
pub async fn with_topic(read: &impl Read, topic: &str) -> Result<Vec<Repository>, StoreError> {
    rows_under(read, keys::topics(topic), usize::MAX).await
}

/// Returns the first topic that begins with `prefix` and comes after the topic `after`.
pub async fn next_topic(read: &impl Read, prefix: &str, after: Option<&str>) -> Result<Option<String>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(keys::topics_from(prefix, after), 1)).await?;
    Ok(pairs.first().and_then(|(key, _)| keys::topic_of(key)).map(str::to_owned))
}

/// Counts the repositories of a visibility class that have a topic.
pub async fn count_with_topic(read: &impl Read, topic: &str, class: Visibility) -> Result<u64, StoreError> {
    read.count(&Range::prefix(keys::topic_class(topic, class)), u64::MAX).await
}

/// Returns repositories of a visibility class that have a topic, at most `limit`.
pub async fn with_topic_in(
    read: &impl Read,
    topic: &str,
    class: Visibility,
    limit: usize,
) -> Result<Vec<Repository>, StoreError> {
    rows_under(read, keys::topic_class(topic, class), limit).await
}

/// Returns the repositories with these ids, in the same order. Ids that do not exist are left out.
pub async fn many(read: &impl Read, ids: &[u64]) -> Result<Vec<Repository>, StoreError> {
    let keys: Vec<Key> = ids.iter().map(|id| keys::repository(*id)).collect();
    Ok(read.get_many(&keys).await?.into_iter().flatten().collect())
}

/// Returns the repositories with ids above `after` that are not deleted, sorted by id, at most `limit`.
pub async fn after_id(read: &impl Read, after: u64, limit: usize) -> Result<Vec<Repository>, StoreError> {
    let mut rows = Vec::new();
    let mut after = after;
    while rows.len() < limit {
        let range = Range::prefix(keys::repositories()).after(&keys::repository(after));
        let batch: Vec<(Key, Repository)> = read.scan(&Scan::of(range, limit)).await?;
        let Some((_, last)) = batch.last() else { break };
        after = last.id;
        rows.extend(batch.into_iter().map(|(_, row)| row).filter(|row| !row.deleted));
    }
    rows.truncate(limit);
    Ok(rows)
}

/// Returns the next repositories by id, including deleted ones, and the key after which the next batch starts.
/// Unreadable rows are left out.
pub async fn batch(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<Repository>, Option<Key>), StoreError> {
    read.readable(Range::prefix(keys::repositories()), after, limit).await
}

/// Returns the newest repositories of `owner`, or of all owners, at most `limit`.
pub async fn newest(read: &impl Read, owner: Option<u64>, limit: usize) -> Result<Vec<Repository>, StoreError> {
    let range = Range::prefix(owner.map_or_else(keys::repositories, keys::owner_repositories));
    let pairs = read.scan_bytes(&Scan { reverse: true, ..Scan::of(range, limit) }).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect();
    many(read, &ids).await
}

/// Counts the repositories of an owner, up to `cap`.
pub async fn count_of(read: &impl Read, owner: u64, cap: u64) -> Result<u64, StoreError> {
    read.count(&Range::prefix(keys::owner_repositories(owner)), cap).await
}

/// Returns the visibility class in which a repository is listed.
pub fn class(owner: Visibility, private: bool) -> Visibility {
    if private { Visibility::Private } else { owner }
}

/// Moves all repositories of `owner` to the lists of its new visibility.
pub async fn relist(tx: &Tx, owner: u64, visibility: Visibility) -> Result<(), StoreError> {
    for before in rows_under(tx, keys::owner_repositories(owner), usize::MAX).await? {
        let listed = class(visibility, before.private).into();
        if before.listed != listed {
            put(tx, Some(&before), &Repository { listed, ..before.clone() });
        }
    }
    Ok(())
}

/// Returns the keys of the index entries that refer to `row`.
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
    all.extend(row.transfer.as_ref().map(|offer| keys::transfer_offer(offer.expires_ms, row.id)));
    if let Some(mirror) = row.mirror.as_ref().filter(|mirror| mirror.pull && mirror.next_ms != 0) {
        all.insert(keys::mirror_due(mirror.next_ms, row.id, ""));
    }
    all.extend(row.topics.iter().map(|topic| keys::topic(topic, row.listed(), row.id)));
    all.extend(forks::keys_of(row));
    all.extend(trigrams(&row.name).into_iter().map(|trigram| keys::trigram(trigram, row.id)));
    all
}

/// Returns the entries of `row` in the sorted lists.
pub(super) fn listings(row: &Repository) -> BTreeMap<Key, Listing> {
    if row.deleted {
        return BTreeMap::new();
    }
    let listing = Listing {
        name: row.name.to_lowercase(),
        private: row.private,
        template: row.template,
        archived: row.archived,
        fork: row.parent != 0,
        mirror: row.mirror.as_ref().is_some_and(|mirror| mirror.pull),
    };
    let lists = [0, row.owner_id].into_iter().flat_map(|scope| Sort::ALL.map(|sort| (scope, sort)));
    lists.map(|(scope, sort)| (keys::listing(scope, sort, row), listing.clone())).collect()
}

/// Returns the trigrams of a name in lower case. Names are ASCII.
pub fn trigrams(name: &str) -> BTreeSet<[u8; 3]> {
    name.to_lowercase().as_bytes().windows(3).filter_map(|window| window.try_into().ok()).collect()
}

/// Returns the permission of `user` as a collaborator.
pub async fn collaborator(read: &impl Read, repository: u64, user: u64) -> Result<Permission, StoreError> {
    let row = read.get::<Collaborator>(&keys::collaborator(repository, user)).await?;
    Ok(row.map_or(Permission::None, |row| row.permission()))
}

/// Sets the permission of `user` as a collaborator. [`Permission::None`] removes the collaborator.
pub fn set_collaborator(tx: &Tx, repository: u64, user: u64, permission: Permission) {
    for key in [keys::collaborator(repository, user), keys::collaboration(user, repository)] {
        match permission {
            Permission::None => tx.delete(key),
            _ => tx.put(key, &Collaborator { permission: permission.into() }),
        }
    }
}

/// Returns the collaborators of a repository with their permissions, sorted by id, at most `limit`.
pub async fn collaborators(
    read: &impl Read,
    repository: u64,
    limit: usize,
) -> Result<Vec<(u64, Permission)>, StoreError> {
    let pairs = read.scan::<Collaborator>(&Scan::of(Range::prefix(keys::collaborators(repository)), limit)).await?;
    Ok(pairs.iter().filter_map(|(key, row)| Some((keys::trailing_id(key)?, row.permission()))).collect())
}

/// Returns the repositories on which `user` is a collaborator, except deleted ones.
pub async fn collaborations(read: &impl Read, user: u64) -> Result<Vec<Repository>, StoreError> {
    let mut rows = rows_under(read, keys::collaborations(user), usize::MAX).await?;
    rows.retain(|row| !row.deleted);
    Ok(rows)
}

/// Removes at most `limit` collaborations of `user`. Returns whether none are left.
pub async fn end_collaborations(tx: &Tx, user: u64, limit: usize) -> Result<bool, StoreError> {
    let pairs = tx.scan_bytes(&Scan::of(Range::prefix(keys::collaborations(user)), limit)).await?;
    for repository in pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)) {
        set_collaborator(tx, repository, user, Permission::None);
    }
    Ok(pairs.len() < limit)
}
