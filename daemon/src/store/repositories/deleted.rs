//! Deleted repositories that can be restored. Their rows are kept; only the index by deletion time refers to
//! them.

use farrier_proto::store::{Reference, Repository};

use super::{by_name, discard, holds_name, many, put};
use crate::store::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    first_time, keys,
};

/// Marks `row` as deleted. Its row, refs, collaborators, hooks, runs and files are kept for [`restore`]. `path`
/// is its `owner/name`.
pub fn set_deleted(tx: &Tx, row: &Repository, path: String, by: u64, now_ms: i64) {
    let deleted = Repository {
        deleted: true,
        // 0 means that the files are being removed.
        deleted_ms: now_ms.max(1),
        deleted_by: by,
        deleted_path: path,
        cancel_jobs: true,
        transfer: None,
        ..row.clone()
    };
    put(tx, Some(row), &deleted);
}

/// Restores the deleted repository `before` as `row`, which is not deleted. Returns `false` if its owner has
/// another repository with this name. A failed migration with this name is discarded.
pub async fn restore(tx: &Tx, before: &Repository, row: &Repository) -> Result<bool, StoreError> {
    match by_name(tx, row.owner_id, &row.name).await? {
        Some(other) if holds_name(&other) => return Ok(false),
        Some(other) => discard(tx, &other).await?,
        None => {}
    }
    tx.delete(keys::repository_redirect(row.owner_id, &row.name));
    put(tx, Some(before), row);
    Ok(true)
}

/// Returns restorable repositories that were deleted at or before `until_ms`, earliest deletion first, at most
/// `limit`.
pub async fn deleted_until(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<Repository>, StoreError> {
    rows(read, &Scan::of(keys::deleted_repositories(until_ms), limit)).await
}

/// Returns the next deleted repositories after `after` (deletion time and id), most recently deleted first, at
/// most `limit`.
pub async fn newest_deleted(
    read: &impl Read,
    after: Option<(i64, u64)>,
    limit: usize,
) -> Result<Vec<Repository>, StoreError> {
    let all = keys::deleted_repositories(i64::MAX);
    let high = after.map(|(ms, id)| keys::deleted_repository(ms, id)).or(all.high);
    rows(read, &Scan { reverse: true, ..Scan::of(Range { low: all.low, high }, limit) }).await
}

/// Returns the earliest deletion time of all restorable repositories.
pub async fn first_deleted_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::deleted_repositories(i64::MAX)).await
}

/// Returns deleted repositories whose running jobs must be cancelled, at most `limit`.
pub async fn with_jobs_to_cancel(read: &impl Read, limit: usize) -> Result<Vec<Repository>, StoreError> {
    rows(read, &Scan::of(Range::prefix(keys::repositories_with_jobs_to_cancel()), limit)).await
}

async fn rows(read: &impl Read, scan: &Scan) -> Result<Vec<Repository>, StoreError> {
    let pairs = read.scan::<Reference>(scan).await?;
    let ids: Vec<u64> = pairs.iter().map(|(_, reference)| reference.id).collect();
    many(read, &ids).await
}
