//! Locks of LFS files, with an index by path.

use farrier_proto::store::{LfsLock, Reference};

use crate::store::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys,
};

/// Returns the lock `id` of a repository.
pub async fn get(read: &impl Read, repository: u64, id: u64) -> Result<Option<LfsLock>, StoreError> {
    read.get(&keys::lfs_lock(repository, id)).await
}

/// Returns the lock of a path.
pub async fn by_path(read: &impl Read, repository: u64, path: &str) -> Result<Option<LfsLock>, StoreError> {
    match read.get::<Reference>(&keys::lfs_lock_of_path(repository, path)).await? {
        Some(found) => get(read, repository, found.id).await,
        None => Ok(None),
    }
}

/// Returns the locks of a repository with IDs above `after`, sorted by ID, at most `limit`.
pub async fn after_id(read: &impl Read, repository: u64, after: u64, limit: usize) -> Result<Vec<LfsLock>, StoreError> {
    let range = Range::prefix(keys::lfs_locks(repository)).after(&keys::lfs_lock(repository, after));
    Ok(read.scan::<LfsLock>(&Scan::of(range, limit)).await?.into_iter().map(|(_, row)| row).collect())
}

/// Counts the locks of a repository, up to `cap`.
pub async fn count(read: &impl Read, repository: u64, cap: u64) -> Result<u64, StoreError> {
    read.count(&Range::prefix(keys::lfs_locks(repository)), cap).await
}

/// Writes a lock and its index entry.
pub fn put(tx: &Tx, row: &LfsLock) {
    tx.put(keys::lfs_lock_of_path(row.repository_id, &row.path), &Reference { id: row.id });
    tx.put(keys::lfs_lock(row.repository_id, row.id), row);
}

/// Deletes a lock and its index entry.
pub fn delete(tx: &Tx, row: &LfsLock) {
    tx.delete(keys::lfs_lock_of_path(row.repository_id, &row.path));
    tx.delete(keys::lfs_lock(row.repository_id, row.id));
}

/// Deletes at most `limit` locks of a repository that is removed permanently. Returns whether none are left.
pub(super) async fn delete_some(tx: &Tx, repository: u64, limit: usize) -> Result<bool, StoreError> {
    let rows = after_id(tx, repository, 0, limit).await?;
    for row in &rows {
        delete(tx, row);
    }
    Ok(rows.is_empty())
}
