//! Background tasks that users started, so far only migrations.
//!
//! Decides who may see and cancel a task. The work itself belongs to the module of the task.

use std::sync::Arc;

use farrier_proto::store::Repository;

use super::{
    Context, Error,
    access::{self, AccessLevel, Action},
    audit::{self, Entry, Object},
    migrations::MigrationTask,
};
use crate::{
    model::identity::Identity,
    store::{Read, StoreError, owners, repositories},
};

const MISSING: Error = Error::NotFound { what: "the task" };

/// Returns the tasks that the caller may see, newest first.
pub async fn list(context: &Context, identity: &Identity) -> Result<Vec<Arc<MigrationTask>>, Error> {
    access::require_account(identity)?;
    let snapshot = context.store.read().await?;
    let mut visible = Vec::new();
    for task in context.migrations.all(context.now_ms()) {
        if access_level(&snapshot, identity, &task).await?.allows(Action::Read) {
            visible.push(task);
        }
    }
    Ok(visible)
}

/// Returns task `id`.
pub async fn find(context: &Context, identity: &Identity, id: u64) -> Result<Arc<MigrationTask>, Error> {
    Ok(find_with_access(context, identity, id).await?.0)
}

/// Cancels a running task. It ends shortly afterwards, when it has removed what it created.
pub async fn cancel(context: &Context, identity: &Identity, id: u64) -> Result<Arc<MigrationTask>, Error> {
    let (task, access_level) = find_with_access(context, identity, id).await?;
    access::require(identity, access_level, Action::Own)?;
    if task.end().is_some() {
        return Err(Error::Conflict { reason: "the task has ended already".into() });
    }
    let object = Object::new("task", task.row.id, "migration").in_repository(task.row.id, &task.path);
    audit::record_before(context, Entry::new(audit::Action::TaskCancel, object)).await?;
    task.cancel.cancel();
    Ok(task)
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
