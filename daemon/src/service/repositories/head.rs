//! Keeps git's `HEAD` equal to the default branch in the repository's row.
//!
//! The transaction that changes the default branch also writes a mark, which is removed once `HEAD` has been set. If
//! the daemon dies in between, the sweep finds the mark at the next start.

use farrier_proto::store::Repository;

use crate::{
    clock::Millis,
    git::RepositoryLock,
    service::{Context, Error, migrations},
    store::{Tx, refs, repositories},
};

/// Marks to read per pass of the sweep.
const SWEEP_MAX: usize = 100;
/// Pause before a failed update of `HEAD` is retried.
const RETRY_MS: Millis = 60_000;

/// Marks the repository if a transaction changes its default branch. Must be called in that transaction.
pub(in crate::service) fn note(tx: &Tx, before: &Repository, row: &Repository) {
    if before.default_branch != row.default_branch {
        refs::mark_head(tx, row.id);
    }
}

/// Sets `HEAD` to the default branch in the row. Must be called after the commit, regardless of its outcome.
pub(in crate::service) async fn follow(context: &Context, id: u64) {
    let lock = context.git.lock(id).await;
    follow_locked(context, id, &lock).await;
}

/// Like [`follow`], for a caller that holds the lock of the repository.
///
/// The row is read under the lock, so the last committed change decides.
pub(in crate::service) async fn follow_locked(context: &Context, id: u64, _lock: &RepositoryLock) {
    if let Err(error) = try_follow(context, id).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(repository = id, error, "setting HEAD to the default branch failed and is retried later");
        context.sweep.due_at(context.now_ms().saturating_add(RETRY_MS));
    }
}

async fn try_follow(context: &Context, id: u64) -> Result<(), Error> {
    let row = repositories::get(&context.store.read().await?, id).await?;
    let row = row.filter(|row| !row.deleted && migrations::pending(row).is_none());
    // A directory that is missing is created with the branch in the row.
    let is_copy = context.packs.is_some() && !context.git.exists(id).await.map_err(Error::git("setting HEAD"))?;
    if let Some(row) = row.as_ref().filter(|_| !is_copy) {
        context.git.set_head(id, &row.default_branch).await.map_err(Error::git("setting HEAD"))?;
    }
    let set_to = row.map(|row| row.default_branch);
    context
        .store
        .write(async |tx: Tx| {
            // A later change keeps its mark, since its own call follows.
            let now = repositories::get(&tx, id).await?.filter(|row| !row.deleted).map(|row| row.default_branch);
            if now.is_none() || now == set_to {
                refs::unmark_head(&tx, id);
            }
            Ok(())
        })
        .await
}

/// Sets `HEAD` of all marked repositories. Returns when to run again.
pub async fn sweep(context: &Context) -> Result<Option<Millis>, Error> {
    let marked = refs::marked_heads(&context.store.read().await?, SWEEP_MAX).await?;
    if marked.is_empty() {
        return Ok(None);
    }
    // Not in the sweep itself, because another task may hold a repository's lock for long.
    let task_context = context.clone();
    context.tasks.short(async move {
        for id in marked {
            follow(&task_context, id).await;
        }
    });
    Ok(Some(context.now_ms().saturating_add(RETRY_MS)))
}
