//! What the store records about backups: the time of the last one, and, in the store of a backup, which repositories
//! changed while it was made.

use farrier_proto::store::{LastBackup, PushMark};

use super::{Read, StoreError, Tx, keys, refs};

/// Returns the last successful backup.
pub async fn last(read: &impl Read) -> Result<Option<LastBackup>, StoreError> {
    read.get(&keys::last_backup()).await
}

/// Records a successful backup.
pub fn put_last(tx: &Tx, backup: &LastBackup) {
    tx.put(keys::last_backup(), backup);
}

/// Marks repositories whose refs or `HEAD` in the backup are newer than the rows, because clients changed them after
/// the snapshot. The first start after a restore records the changes of refs with events, as after an interrupted push,
/// and sets `HEAD` to the default branch of the row.
pub fn mark_moved(tx: &Tx, repositories: &[u64]) {
    for repository in repositories {
        // The number of the mark is free in practice: marks of pushes are removed when the push is recorded, and two
        // marks of one repository lead to one comparison.
        refs::mark(tx, *repository, *repository, &PushMark::default());
        refs::mark_head(tx, *repository);
    }
}
