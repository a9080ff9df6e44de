//! Background tasks that users can watch and cancel: migrations, and the search for unused LFS objects.
//!
//! Decides who may see and cancel a task. The work itself belongs to the module of the task.

use std::sync::Arc;

use farrier_proto::store::Repository;

use super::{
    Context, Error,
    access::{self, AccessLevel, Action},
    audit::{self, Entry, Object},
    lfs::CollectionTask,
    migrations::MigrationTask,
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

/// Returns the tasks that the caller may see, newest first.
pub async fn list(context: &Context, identity: &Identity) -> Result<Vec<TrackedTask>, Error> {
    access::require_account(identity)?;
    let snapshot = context.store.read().await?;
    let mut visible = Vec::new();
    visible.extend(lfs_collection(context, identity).map(TrackedTask::LfsCollection));
    for task in context.migrations.all(context.now_ms()) {
        if access_level(&snapshot, identity, &task).await?.allows(Action::Read) {
            visible.push(TrackedTask::Migration(task));
        }
    }
    Ok(visible)
}

/// Returns task `id`.
pub async fn find(context: &Context, identity: &Identity, id: u64) -> Result<TrackedTask, Error> {
    if let Some(task) = lfs_collection(context, identity).filter(|task| task.id == id) {
        return Ok(TrackedTask::LfsCollection(task));
    }
    Ok(TrackedTask::Migration(find_with_access(context, identity, id).await?.0))
}

/// Cancels a running task. It ends shortly afterwards, when it has removed what it created.
pub async fn cancel(context: &Context, identity: &Identity, id: u64) -> Result<TrackedTask, Error> {
    const ENDED: &str = "the task has ended already";
    if let Some(task) = lfs_collection(context, identity).filter(|task| task.id == id) {
        if task.end().is_some() {
            return Err(Error::Conflict { reason: ENDED.into() });
        }
        let object = Object::new("task", task.id, "lfs_collection");
        audit::record_before(context, Entry::new(audit::Action::TaskCancel, object)).await?;
        task.cancel.cancel();
        return Ok(TrackedTask::LfsCollection(task));
    }
    let (task, access_level) = find_with_access(context, identity, id).await?;
    access::require(identity, access_level, Action::Own)?;
    if task.end().is_some() {
        return Err(Error::Conflict { reason: ENDED.into() });
    }
    let object = Object::new("task", task.row.id, "migration").in_repository(task.row.id, &task.path);
    audit::record_before(context, Entry::new(audit::Action::TaskCancel, object)).await?;
    task.cancel.cancel();
    Ok(TrackedTask::Migration(task))
}

/// Returns the search for LFS objects, if there is one and the caller is a site administrator.
fn lfs_collection(context: &Context, identity: &Identity) -> Option<Arc<CollectionTask>> {
    access::require_site_admin(identity).ok()?;
    context.lfs_collection.recent(context.now_ms())
}

async fn find_with_access(
    context: &Context,
    identity: &Identity,
    id: u64,
) -> Result<(Arc<MigrationTask>, AccessLevel), Error> {
    access::require_account(identity)?;
    let task = context.migrations.of(id, context.now_ms()).ok_or(MISSING)?;
    let access_level = access_level(&context.store.read().await?, identity, &task).await?;
    if access_level.allows(Action::Read) { Ok((task, access_level)) } else { Err(MISSING) }
}

/// Returns the caller's access to a task: that to its repository. After the repository was deleted, only its owner has
/// access.
async fn access_level(read: &impl Read, identity: &Identity, task: &MigrationTask) -> Result<AccessLevel, StoreError> {
    let owner = owners::owner(read, task.row.owner_kind(), task.row.owner_id).await?;
    let Some(owner) = owner else { return Ok(AccessLevel::Hidden) };
    let row = repositories::get(read, task.row.id).await?;
    let row = row.unwrap_or_else(|| Repository { deleted: true, ..task.row.clone() });
    access::access_level(read, identity, &owner, &row).await
}
