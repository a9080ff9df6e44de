//! Git's `HEAD` of a repository. The default branch in the row decides; `HEAD` follows it after the
//! commit.
//!
//! The transaction that changes the default branch also writes a mark. The mark goes when `HEAD` has
//! been set. If the daemon dies in between, the sweep finds the mark at the next start.

use farrier_proto::store::Repository;

use crate::{
    app::App,
    clock::Millis,
    git::RepositoryLock,
    service::{Error, migrations},
    store::{Tx, refs, repositories},
};

/// Marks that one pass of the sweep looks at.
const SWEEP_MAX: usize = 100;
/// Pause before a `HEAD` that could not be set is tried again.
const RETRY_MS: Millis = 60_000;

/// Notes in the transaction that changes a row that `HEAD` must follow. Does nothing if the default
/// branch stays the same.
pub(in crate::service) fn note(tx: &Tx, before: &Repository, row: &Repository) {
    if before.default_branch != row.default_branch {
        refs::mark_head(tx, row.id);
    }
}

/// Sets `HEAD` to the default branch in the row. To be called after the commit, whatever its outcome.
pub(in crate::service) async fn follow(app: &App, id: u64) {
    let lock = app.git.lock(id).await;
    follow_locked(app, id, &lock).await;
}

/// The same for a caller that has the repository's lock.
///
/// The row is read under the lock, so of two changes the last one to be committed decides.
pub(in crate::service) async fn follow_locked(app: &App, id: u64, _lock: &RepositoryLock) {
    if let Err(error) = try_follow(app, id).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(repository = id, error, "HEAD does not name the default branch yet and is set later");
        app.sweep.due_at(app.now_ms().saturating_add(RETRY_MS));
    }
}

async fn try_follow(app: &App, id: u64) -> Result<(), Error> {
    let row = repositories::get(&app.store.read().await?, id).await?;
    let row = row.filter(|row| !row.deleted && migrations::pending(row).is_none());
    if let Some(row) = &row {
        app.git.set_head(id, &row.default_branch).await.map_err(Error::git("setting HEAD"))?;
    }
    let set_to = row.map(|row| row.default_branch);
    app.store
        .write(async |tx: Tx| {
            // A later change keeps its mark: its own call comes after this one.
            let now = repositories::get(&tx, id).await?.filter(|row| !row.deleted).map(|row| row.default_branch);
            if now.is_none() || now == set_to {
                refs::unmark_head(&tx, id);
            }
            Ok(())
        })
        .await
}

/// Lets `HEAD` follow wherever a mark says that it has not. Says when to look again.
pub async fn sweep(app: &App) -> Result<Option<Millis>, Error> {
    let marked = refs::marked_heads(&app.store.read().await?, SWEEP_MAX).await?;
    if marked.is_empty() {
        return Ok(None);
    }
    // Beside the sweep: a task may hold a repository's lock for long.
    let own = app.clone();
    app.tasks.short(async move {
        for id in marked {
            follow(&own, id).await;
        }
    });
    Ok(Some(app.now_ms().saturating_add(RETRY_MS)))
}
