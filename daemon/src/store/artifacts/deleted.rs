//! Deleted artifacts that can still be restored: row and bytes stay, and only indexes by the time of
//! their deletion, by run and by expiry lead to them.

use farrier_proto::store::{Artifact, ArtifactState, Reference};

use super::{Key, by_name, delete, discard, keys, put};
use crate::store::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    first_time,
};

/// Deletes `row` for every reader. Confirmed content that has not expired stays for [`restore`];
/// anything else has nothing to restore and goes with its row. An upload in progress is discarded.
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

/// Makes the deleted artifact `before` visible again and returns its row; `None` when its job has
/// another artifact of its name.
pub async fn restore(tx: &Tx, before: &Artifact, now_ms: i64) -> Result<Option<Artifact>, StoreError> {
    if by_name(tx, before.run_id, before.job_id, &before.name).await?.is_some() {
        return Ok(None);
    }
    let row = Artifact { deleted_ms: 0, deleted_by: 0, updated_ms: now_ms, ..before.clone() };
    put(tx, Some(before), &row);
    Ok(Some(row))
}

/// Numbers of artifacts that were deleted at `until_ms` or before and can be restored, at most `limit`.
pub async fn deleted_until(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
    ids(read, &Scan::of(keys::deleted_artifacts(until_ms), limit)).await
}

/// Deleted artifacts of a run that can be restored, at most `limit`.
pub async fn deleted_of_run(read: &impl Read, run: u64, limit: usize) -> Result<Vec<Artifact>, StoreError> {
    rows(read, &Scan::of(Range::prefix(keys::run_deleted_artifacts(run)), limit)).await
}

/// The next at most `limit` deleted artifacts behind `after`, a time of deletion and a number; the last
/// deleted first.
pub async fn newest_deleted(
    read: &impl Read,
    after: Option<(i64, u64)>,
    limit: usize,
) -> Result<Vec<Artifact>, StoreError> {
    let all = keys::deleted_artifacts(i64::MAX);
    let high = after.map(|(ms, id)| keys::deleted_artifact(ms, id)).or(all.high);
    rows(read, &Scan { reverse: true, ..Scan::of(Range { low: all.low, high }, limit) }).await
}

/// When the first of the deleted artifacts was deleted.
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
