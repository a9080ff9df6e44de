//! What the store records about backups: the time of the last one, and, in the store of a backup, which repositories
//! must be compared with their rows after a restore.

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

/// Marks repositories of an earlier release, not adopted yet, whose files of refs or `HEAD` in the backup differ from
/// the rows. The first start after a restore records the changes of refs with events, as after an interrupted push, and
/// sets `HEAD` to the default branch of the row.
pub fn mark_moved(tx: &Tx, repositories: &[u64]) {
    for repository in repositories {
        // A push mark with the same number is replaced. Two marks of a repository lead to one comparison, so only the
        // account in the replaced mark is lost.
        refs::mark(tx, *repository, *repository, &PushMark::default());
        refs::mark_head(tx, *repository);
    }
}
