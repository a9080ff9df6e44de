//! What the daemon does in the background because somebody asked for it, as they see it.
//!
//! Owns who sees and ends which of these tasks; the work is that of whoever does it. So far it is
//! migrations.

use std::sync::Arc;

use farrier_proto::store::Repository;

use super::{
    Error,
    access::{self, AccessLevel, Action},
    migrations::Running,
};
use crate::{
    app::App,
    model::identity::Identity,
    store::{Read, StoreError, owners, repositories},
};

const MISSING: Error = Error::NotFound { what: "the task" };

/// Tasks that the caller may see, the youngest first.
pub async fn list(app: &App, identity: &Identity) -> Result<Vec<Arc<Running>>, Error> {
    access::require_account(identity)?;
    let snapshot = app.store.read().await?;
    let mut seen = Vec::new();
    for task in app.migrations.all(app.now_ms()) {
        if access_level(&snapshot, identity, &task).await?.allows(Action::Read) {
            seen.push(task);
        }
    }
    Ok(seen)
}

/// The task with this number.
pub async fn find(app: &App, identity: &Identity, id: u64) -> Result<Arc<Running>, Error> {
    Ok(found(app, identity, id).await?.0)
}

/// Ends a task that runs. That takes a moment: what it has made so far is removed.
pub async fn cancel(app: &App, identity: &Identity, id: u64) -> Result<Arc<Running>, Error> {
    let (task, access_level) = found(app, identity, id).await?;
    access::require(identity, access_level, Action::Own)?;
    if task.end().is_some() {
        return Err(Error::Conflict { reason: "the task has ended already".into() });
    }
    task.cancel.cancel();
    Ok(task)
}

async fn found(app: &App, identity: &Identity, id: u64) -> Result<(Arc<Running>, AccessLevel), Error> {
    access::require_account(identity)?;
    let task = app.migrations.of(id, app.now_ms()).ok_or(MISSING)?;
    let access_level = access_level(&app.store.read().await?, identity, &task).await?;
    if access_level.allows(Action::Read) { Ok((task, access_level)) } else { Err(MISSING) }
}

/// How the caller stands to a task: as to its repository. One that is gone is nobody's but its owner's.
async fn access_level(read: &impl Read, identity: &Identity, task: &Running) -> Result<AccessLevel, StoreError> {
    let owner = owners::owner(read, task.row.owner_kind(), task.row.owner_id).await?;
    let Some(owner) = owner else { return Ok(AccessLevel::Hidden) };
    let row = repositories::get(read, task.row.id).await?;
    let row = row.unwrap_or_else(|| Repository { deleted: true, ..task.row.clone() });
    access::access_level(read, identity, &owner, &row).await
}
