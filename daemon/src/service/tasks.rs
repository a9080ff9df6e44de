//! Background tasks that users can watch and cancel: migrations, and the search for unused LFS objects.
//!
//! Decides who may see and cancel a task. The work itself belongs to the module of the task.

use std::sync::Arc;

use farrier_proto::store::Repository;
use tokio_util::sync::CancellationToken;

use super::{
    Context, Error,
    access::{self, AccessLevel, Action},
    audit::{self, Entry, Object},
    lfs::CollectionTask,
    migrations::MigrationTask,
    shared_tasks,
};
use crate::{
    clock::Millis,
    model::identity::Identity,
    store::{Read, StoreError, owners, repositories},
};

const MISSING: Error = Error::NotFound { what: "the task" };

/// How long an ended task is remembered.
pub(super) const KEEP_ENDED_MS: Millis = 3_600_000;

/// The result of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskResult {
    /// It has done its work.
    Done,
    /// It failed, with the reason.
    Failed(String),
    /// It was cancelled, or its repository was deleted.
    Cancelled,
}

/// A running or recently ended task.
#[derive(Clone, Debug)]
pub enum TrackedTask {
    /// The import of a repository.
    Migration(Arc<MigrationTask>),
    /// The search for LFS objects that no file names.
    LfsCollection(Arc<CollectionTask>),
}

impl TrackedTask {
    /// Returns the ID.
    pub fn id(&self) -> u64 {
        match self {
            Self::Migration(task) => task.row.id,
            Self::LfsCollection(task) => task.id,
        }
    }

    /// Returns the start time.
    pub(super) fn started_ms(&self) -> Millis {
        match self {
            Self::Migration(task) => task.started_ms,
            Self::LfsCollection(task) => task.started_ms,
        }
    }

    fn end(&self) -> Option<(TaskResult, Millis)> {
        match self {
            Self::Migration(task) => task.end(),
            Self::LfsCollection(task) => task.end(),
        }
    }

    /// Returns a token that is cancelled when a task of this node has ended.
    pub(super) fn ended(&self) -> &CancellationToken {
        match self {
            Self::Migration(task) => &task.ended,
            Self::LfsCollection(task) => &task.ended,
        }
    }

    /// Cancels a task of this node.
    pub(super) fn cancel_here(&self) {
        match self {
            Self::Migration(task) => task.cancel.cancel(),
            Self::LfsCollection(task) => task.cancel.cancel(),
        }
    }
}

/// Returns the tasks that the caller may see, newest first.
pub async fn list(context: &Context, identity: &Identity) -> Result<Vec<TrackedTask>, Error> {
    access::require_account(identity)?;
    let snapshot = context.store.read().await?;
    let mut visible = Vec::new();
    for task in shared_tasks::all(context, &snapshot).await? {
        if task_access(&snapshot, identity, &task).await?.allows(Action::Read) {
            visible.push(task);
        }
    }
    Ok(visible)
}

/// Returns task `id`.
pub async fn find(context: &Context, identity: &Identity, id: u64) -> Result<TrackedTask, Error> {
    Ok(find_with_access(context, identity, id).await?.0)
}

/// Cancels a running task. It ends shortly afterwards, when it has removed what it created.
pub async fn cancel(context: &Context, identity: &Identity, id: u64) -> Result<TrackedTask, Error> {
    let ended = || Error::Conflict { reason: "the task has ended already".into() };
    let (task, access_level) = find_with_access(context, identity, id).await?;
    access::require(identity, access_level, Action::Own)?;
    if task.end().is_some() {
        return Err(ended());
    }
    let object = match &task {
        TrackedTask::Migration(task) => Object::new("task", id, "migration").in_repository(id, &task.path),
        TrackedTask::LfsCollection(_) => Object::new("task", id, "lfs_collection"),
    };
    audit::record_before(context, Entry::new(audit::Action::TaskCancel, object)).await?;
    if context.store.is_shared() && !shared_tasks::cancel(context, id).await? {
        return Err(ended());
    }
    task.cancel_here();
    Ok(task)
}

async fn find_with_access(
    context: &Context,
    identity: &Identity,
    id: u64,
) -> Result<(TrackedTask, AccessLevel), Error> {
    access::require_account(identity)?;
    let snapshot = context.store.read().await?;
    let task = shared_tasks::all(context, &snapshot).await?.into_iter().find(|task| task.id() == id).ok_or(MISSING)?;
    let access_level = task_access(&snapshot, identity, &task).await?;
    if access_level.allows(Action::Read) { Ok((task, access_level)) } else { Err(MISSING) }
}

/// Returns the caller's access to a task. Only site administrators have access to the search for LFS objects.
async fn task_access(read: &impl Read, identity: &Identity, task: &TrackedTask) -> Result<AccessLevel, StoreError> {
    match task {
        TrackedTask::Migration(task) => access_level(read, identity, task).await,
        TrackedTask::LfsCollection(_) if access::require_site_admin(identity).is_ok() => Ok(AccessLevel::Owner),
        TrackedTask::LfsCollection(_) => Ok(AccessLevel::Hidden),
    }
}

/// Returns the caller's access to an import: that to its repository. After the repository was deleted, only its owner
/// has access.
async fn access_level(read: &impl Read, identity: &Identity, task: &MigrationTask) -> Result<AccessLevel, StoreError> {
    let owner = owners::owner(read, task.row.owner_kind(), task.row.owner_id).await?;
    let Some(owner) = owner else { return Ok(AccessLevel::Hidden) };
    let row = repositories::get(read, task.row.id).await?;
    let row = row.unwrap_or_else(|| Repository { deleted: true, ..task.row.clone() });
    access::access_level(read, identity, &owner, &row).await
}
