//! Tasks that users can watch and cancel, if several nodes use the store.
//!
//! Each task has a row. The node that does the task writes the progress to the row, at most once a second, and reads
//! whether an account has cancelled the task on another node. If no other node can use the store, there are no rows,
//! and these functions do nothing.
//!
//! A node that did not renew its row in time may still do a task that another node has recorded as failed. It finds
//! that within a second, and cancels the task.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use farrier_proto::store::{LfsSearchProgress, Task, TaskState};

use super::{
    Context, Error,
    lfs::CollectionTask,
    migrations::MigrationTask,
    nodes::WorkState,
    tasks::{KEEP_ENDED_MS, TaskResult, TrackedTask},
};
use crate::{
    clock::Millis,
    store::{Read, StoreError, Tx, task_rows as rows},
};

/// Interval at which a node writes the progress of a task and reads whether it was cancelled.
const EVERY: Duration = Duration::from_secs(1);
/// The error of a task whose daemon ended.
const INTERRUPTED: &str = "the daemon of the node ended during the task";

/// Returns the name of this node, for tasks. Empty if no other node can use the store.
pub(super) fn node_name(context: &Context) -> String {
    if context.store.is_shared() { context.node.name().to_owned() } else { String::new() }
}

/// Writes the row of an import that this node will do. Returns `false` if its owner already has `most` running imports.
/// `keeps_failed`: whether its repository stays if it fails.
pub(super) async fn begin_import(
    context: &Context,
    task: &Arc<MigrationTask>,
    most: usize,
    keeps_failed: bool,
) -> Result<bool, Error> {
    if !context.store.is_shared() {
        return Ok(true);
    }
    let row = &Task { keeps_failed, ..row_of(context, &TrackedTask::Migration(task.clone())) };
    let owner = |row: &Task| row.repository.as_ref().map(|repository| repository.owner_id);
    let begin = async |tx: Tx| {
        let running = rows::all(&tx).await?.into_iter().filter(rows::is_running);
        if running.filter(|other| owner(other) == owner(row)).count() >= most {
            return Ok(false);
        }
        rows::put(&tx, row);
        Ok::<_, Error>(true)
    };
    context.store.write(begin).await
}

/// Removes the row of an import that could not begin.
pub(super) async fn forget(context: &Context, id: u64) {
    if !context.store.is_shared() {
        return;
    }
    let forget = async |tx: Tx| {
        rows::delete(&tx, id);
        Ok::<_, Error>(())
    };
    if let Err(error) = context.store.write(forget).await {
        tracing::warn!(task = id, error = &error as &dyn StdError, "the row of a task could not be removed");
    }
}

/// Requests a search for unused LFS objects from the node that does such work. Fails if one is running.
pub(super) async fn request_search(context: &Context, dry_run: bool) -> Result<(), Error> {
    let now = context.now_ms();
    let request = async |tx: Tx| {
        let all = rows::all(&tx).await?;
        if all.iter().filter(|row| is_search(row)).any(rows::is_running) {
            return Err(Error::Conflict { reason: "the task is running already".into() });
        }
        rows::put(&tx, &new_search(&all, dry_run, now));
        Ok(())
    };
    context.store.write(request).await
}

/// Begins the requested search. Without a request, begins a search that removes objects, if it is due. Called
/// under the lease of searches, so no other node searches.
pub async fn begin_search(context: &Context, is_due: bool) -> Result<Option<Arc<CollectionTask>>, Error> {
    let (now, begun_by) = (context.now_ms(), Some(context.node.this_start()));
    let begin = async |tx: Tx| {
        let all = rows::all(&tx).await?;
        let mut requested = None;
        for row in all.iter().filter(|row| is_search(row) && rows::is_running(row)) {
            match row.begun_by {
                None => requested = Some(row.clone()),
                Some(_) => rows::put(&tx, &failed(row, now)),
            }
        }
        let row = requested.or_else(|| is_due.then(|| new_search(&all, false, now)));
        let row = row.map(|row| Task { begun_by, node: context.node.name().to_owned(), ..row });
        if let Some(row) = &row {
            rows::put(&tx, row);
        }
        Ok::<_, Error>(row)
    };
    let Some(row) = context.store.write(begin).await? else { return Ok(None) };
    let task = Arc::new(CollectionTask::of_row(row, None));
    context.lfs_collection.track(task.clone());
    follow(context, TrackedTask::LfsCollection(task.clone()));
    Ok(Some(task))
}

/// Copies the progress and the result of a task of this node to its row until the task has ended.
pub(super) fn follow(context: &Context, task: TrackedTask) {
    if !context.store.is_shared() {
        return;
    }
    let follower = context.clone();
    context.tasks.short(async move {
        loop {
            tokio::select! {
                () = task.ended().cancelled() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
            let row = row_of(&follower, &task);
            match write(&follower, &row).await {
                Ok(is_cancelled) => {
                    if !rows::is_running(&row) {
                        return;
                    }
                    if is_cancelled {
                        task.cancel_here();
                    }
                }
                Err(error) => {
                    tracing::debug!(error = &error as &dyn StdError, "the progress of a task was not written");
                    if follower.tasks.stop().is_cancelled() {
                        return;
                    }
                    tokio::time::sleep(EVERY).await;
                }
            }
        }
    });
}

/// Writes the progress of a task. Returns whether the task must be cancelled.
async fn write(context: &Context, row: &Task) -> Result<bool, Error> {
    let write = async |tx: Tx| {
        let before = rows::get(&tx, row.id).await?;
        let Some(before) = before.filter(|before| rows::is_running(before) && before.begun_by == row.begun_by) else {
            return Ok(true);
        };
        let new = Task { cancel: before.cancel, keeps_failed: before.keeps_failed, ..row.clone() };
        if new != before {
            rows::put(&tx, &new);
        }
        Ok::<_, Error>(before.cancel)
    };
    context.store.write(write).await
}

/// Requests that the node of a task cancels it. Returns `false` if it has ended.
pub(super) async fn cancel(context: &Context, id: u64) -> Result<bool, Error> {
    let cancel = async |tx: Tx| {
        let row = rows::get(&tx, id).await?.filter(rows::is_running);
        let Some(row) = row else { return Ok(false) };
        let row = Task { cancel: true, ..row };
        if row.begun_by.is_some() {
            rows::put(&tx, &row);
        } else {
            let (cancelled, ended_ms) = (TaskState::Cancelled.into(), context.now_ms());
            rows::put(&tx, &Task { state: cancelled, ended_ms, ..row });
        }
        Ok::<_, Error>(true)
    };
    context.store.write(cancel).await
}

/// Cancels the import of a deleted repository, if another node does it.
pub(super) fn repository_deleted(context: &Context, id: u64) {
    if !context.store.is_shared() {
        return;
    }
    let task_context = context.clone();
    context.tasks.short(async move {
        if let Err(error) = cancel(&task_context, id).await {
            // The import finds when it ends that the repository was deleted.
            tracing::debug!(error = &error as &dyn StdError, "the import of a deleted repository was not cancelled");
        }
    });
}

/// Returns whether a node does the import of a repository.
pub(super) async fn is_importing(context: &Context, read: &impl Read, id: u64) -> Result<bool, StoreError> {
    Ok(context.store.is_shared() && rows::get(read, id).await?.is_some_and(|row| rows::is_running(&row)))
}

/// Returns the tasks of all nodes, newest first. Those of this node have their current progress.
pub(super) async fn all(context: &Context, read: &impl Read) -> Result<Vec<TrackedTask>, StoreError> {
    let now = context.now_ms();
    let of_node = context.lfs_collection.recent(now).map(TrackedTask::LfsCollection).into_iter();
    let mut of_node: Vec<TrackedTask> =
        of_node.chain(context.migrations.all(now).into_iter().map(TrackedTask::Migration)).collect();
    if !context.store.is_shared() {
        return Ok(of_node);
    }
    let is_kept = |row: &Task| rows::is_running(row) || now - row.ended_ms <= KEEP_ENDED_MS;
    let rows = rows::all(read).await?.into_iter().filter(is_kept);
    let elsewhere = rows.filter(|row| of_node.iter().all(|task| task.id() != row.id)).map(elsewhere);
    let elsewhere: Vec<TrackedTask> = elsewhere.collect();
    of_node.extend(elsewhere);
    of_node.sort_by_key(|task| std::cmp::Reverse(task.started_ms()));
    Ok(of_node)
}

/// Records that tasks whose daemon has ended have failed, and removes the rows of tasks that ended some time ago.
pub async fn recover(context: &Context) -> Result<(), Error> {
    if !context.store.is_shared() || rows::all(&context.store.read().await?).await?.is_empty() {
        return Ok(());
    }
    let now = context.now_ms();
    let recover = async |tx: Tx| {
        for row in rows::all(&tx).await? {
            if !rows::is_running(&row) {
                if now - row.ended_ms > KEEP_ENDED_MS {
                    rows::delete(&tx, row.id);
                }
            } else if row.begun_by.is_some()
                && context.node.state_of(&tx, row.begun_by.as_ref(), now).await? == WorkState::Interrupted
            {
                rows::put(&tx, &failed(&row, now));
            }
        }
        Ok::<_, Error>(())
    };
    context.store.write(recover).await
}

fn is_search(row: &Task) -> bool {
    row.search.is_some()
}

/// Returns the row of a search that is requested at `now`.
fn new_search(all: &[Task], dry_run: bool, now: Millis) -> Task {
    let least = all.iter().filter(|row| is_search(row)).map(|row| row.id + 1).max().unwrap_or(1);
    Task {
        id: u64::try_from(now).unwrap_or_default().max(least),
        started_ms: now,
        state: TaskState::Running.into(),
        search: Some(LfsSearchProgress { dry_run, ..LfsSearchProgress::default() }),
        ..Task::default()
    }
}

/// Returns the row of a task whose daemon has ended.
fn failed(row: &Task, now: Millis) -> Task {
    Task { state: TaskState::Failed.into(), error: INTERRUPTED.into(), ended_ms: now, ..row.clone() }
}

/// Returns the row of a task that this node does.
fn row_of(context: &Context, task: &TrackedTask) -> Task {
    let (mut row, end) = match task {
        TrackedTask::Migration(task) => {
            let import = Some(task.progress().to_row());
            (
                Task { repository: Some(task.row.clone()), path: task.path.clone(), import, ..Task::default() },
                task.end(),
            )
        }
        TrackedTask::LfsCollection(task) => (Task { search: Some(task.to_row()), ..Task::default() }, task.end()),
    };
    let (state, error) = match end.as_ref().map(|(result, _)| result) {
        None => (TaskState::Running, ""),
        Some(TaskResult::Done) => (TaskState::Done, ""),
        Some(TaskResult::Failed(error)) => (TaskState::Failed, error.as_str()),
        Some(TaskResult::Cancelled) => (TaskState::Cancelled, ""),
    };
    row.set_state(state);
    let (id, started_ms, error) = (task.id(), task.started_ms(), error.to_owned());
    let (begun_by, node) = (Some(context.node.this_start()), node_name(context));
    Task { id, started_ms, begun_by, node, error, ended_ms: end.map_or(0, |(_, at)| at), ..row }
}

/// Returns a task as its row describes it.
fn elsewhere(row: Task) -> TrackedTask {
    let result = match row.state() {
        TaskState::Unspecified | TaskState::Running => None,
        TaskState::Done => Some(TaskResult::Done),
        TaskState::Failed => Some(TaskResult::Failed(row.error.clone())),
        TaskState::Cancelled => Some(TaskResult::Cancelled),
    };
    let end = result.map(|result| (result, row.ended_ms));
    if is_search(&row) {
        TrackedTask::LfsCollection(Arc::new(CollectionTask::of_row(row, end)))
    } else {
        TrackedTask::Migration(Arc::new(MigrationTask::elsewhere(row, end)))
    }
}
