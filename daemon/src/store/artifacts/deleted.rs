//! Deleted artifacts that can be restored. Their rows and bytes are kept; only the indexes by deletion time,
//! run and expiry refer to them.

use farrier_proto::store::{Artifact, ArtifactState, Reference};

use super::{Key, by_name, delete, discard, keys, put};
use crate::store::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    first_time,
};

/// Marks `row` as deleted. Finalized content that has not expired is kept for [`restore`]. In any other state
/// there is nothing to restore, and the row is deleted too. An upload in progress is discarded.
pub fn set_deleted(tx: &Tx, before: &Artifact, by: u64, now_ms: i64) {
    let restorable = before.state() == ArtifactState::Final && before.content.is_some() && before.expires_ms > now_ms;
    if !restorable {
        return delete(tx, before, now_ms);
    }
    let mut row = Artifact { deleted_ms: now_ms.max(1), deleted_by: by, ..before.clone() };
    if let Some(upload) = row.upload.take() {
        discard(tx, row.id, upload.generation, now_ms);
    }
    put(tx, Some(before), &row);
}

/// Restores the deleted artifact `before` and returns its new row; `None` if its job has another artifact with
/// the same name.
pub async fn restore(tx: &Tx, before: &Artifact, now_ms: i64) -> Result<Option<Artifact>, StoreError> {
    if by_name(tx, before.run_id, before.job_id, &before.name).await?.is_some() {
        return Ok(None);
    }
    let row = Artifact { deleted_ms: 0, deleted_by: 0, updated_ms: now_ms, ..before.clone() };
    put(tx, Some(before), &row);
    Ok(Some(row))
}

/// Returns the ids of restorable artifacts that were deleted at or before `until_ms`, at most `limit`.
pub async fn deleted_until(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
    ids(read, &Scan::of(keys::deleted_artifacts(until_ms), limit)).await
}

/// Returns the restorable deleted artifacts of a run, at most `limit`.
pub async fn deleted_of_run(read: &impl Read, run: u64, limit: usize) -> Result<Vec<Artifact>, StoreError> {
    rows(read, &Scan::of(Range::prefix(keys::run_deleted_artifacts(run)), limit)).await
}

/// Returns the next deleted artifacts after `after` (deletion time and id), most recently deleted first, at
/// most `limit`.
pub async fn newest_deleted(
    read: &impl Read,
    after: Option<(i64, u64)>,
    limit: usize,
) -> Result<Vec<Artifact>, StoreError> {
    let all = keys::deleted_artifacts(i64::MAX);
    let high = after.map(|(ms, id)| keys::deleted_artifact(ms, id)).or(all.high);
    rows(read, &Scan { reverse: true, ..Scan::of(Range { low: all.low, high }, limit) }).await
}

/// Returns the earliest deletion time of all restorable artifacts.
pub async fn first_deleted_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::deleted_artifacts(i64::MAX)).await
}

async fn ids(read: &impl Read, scan: &Scan) -> Result<Vec<u64>, StoreError> {
    Ok(read.scan::<Reference>(scan).await?.iter().map(|(_, reference)| reference.id).collect())
}

async fn rows(read: &impl Read, scan: &Scan) -> Result<Vec<Artifact>, StoreError> {
    let keys: Vec<Key> = ids(read, scan).await?.into_iter().map(keys::artifact).collect();
    Ok(read.get_many(&keys).await?.into_iter().flatten().collect())
}
