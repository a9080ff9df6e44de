//! The rows of tasks that users can watch and cancel: imports, and searches for unused LFS objects.
//!
//! They exist only if several nodes can use the store. Rows of ended tasks are kept for a while.

use farrier_proto::store::{Task, TaskState};

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys,
};

/// Maximum number of rows to read.
const MAX: usize = 10_000;

/// Returns the task `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Task>, StoreError> {
    read.get(&keys::task(id)).await
}

/// Returns all tasks.
pub async fn all(read: &impl Read) -> Result<Vec<Task>, StoreError> {
    let rows = read.scan(&Scan::of(Range::prefix(keys::tasks()), MAX)).await?;
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Writes a task.
pub fn put(tx: &Tx, row: &Task) {
    tx.put(keys::task(row.id), row);
}

/// Deletes a task.
pub fn delete(tx: &Tx, id: u64) {
    tx.delete(keys::task(id));
}

/// Returns whether a task has not ended.
pub fn is_running(row: &Task) -> bool {
    row.state() == TaskState::Running
}
