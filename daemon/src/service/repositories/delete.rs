//! Deletes repositories.
//!
//! A deletion by a user can be undone: it marks the row, which hides the repository from all users and frees its name,
//! and keeps everything else. When `storage.set_aside_days` are over, or when an administrator purges the repository,
//! the sweep removes its runs, its files and finally the row.

use farrier_proto::store::{MigrationState, Repository};

use super::{FoundRepository, find, transfer};
use crate::{
    clock::Millis,
    model::{identity::Identity, revision::Expected},
    service::{
        Context, Error,
        access::Action,
        audit::{self, AuditRecorder, Entry, Object},
        caches, ci, deleted,
        events::{self, Actor, EventKind, EventRecorder, Subject},
        migrations, shared_tasks,
    },
    show,
    store::{
        Snapshot, Tx, hooks, interests, lfs, mirrors,
        owners::Owner,
        ref_rules, refs, releases,
        repositories::{self, forks},
        ssh_keys, statuses,
    },
};

/// Repositories to handle per step of the sweep.
const SWEEP_MAX: usize = 16;
/// Rows of statuses to delete per transaction.
const ROWS_AT_ONCE: usize = 1_000;

/// Deletes the repository `owner`/`name` if its revision is the expected one. Cancels a running migration of it.
pub async fn delete(
    context: &Context,
    identity: &Identity,
    owner: &str,
    name: &str,
    expected: &Expected,
) -> Result<(), Error> {
    let snapshot = context.store.read().await?;
    let found = find(&snapshot, identity, owner, name, Action::Own).await?;
    drop(snapshot);
    remove(context, identity, &found, expected).await
}

/// Deletes all repositories of an owner, or none if one of them cannot be deleted. Returns how many it
/// deleted.
///
/// A repository that is deleted or moved to another owner meanwhile is left out.
pub async fn delete_all(context: &Context, identity: &Identity, owner: &Owner) -> Result<usize, Error> {
    let all = super::list::owned(&context.store.read().await?, identity, owner).await?;
    if all.len() > events::PER_TRANSACTION_MAX {
        let (name, most) = (owner.name(), events::PER_TRANSACTION_MAX);
        return Err(Error::Conflict {
            reason: format!(
                "{name} has more than {most} repositories, which cannot be deleted at once; delete some first"
            ),
        });
    }
    let recorders: Vec<_> = all.iter().map(|_| EventRecorder::new(context)).collect();
    let now = context.now_ms();
    let audit = &AuditRecorder::new(context);
    let deleted = context.store.write(async |tx: Tx| {
        let (mut deleted, mut entries) = (Vec::new(), Vec::new());
        for (found, recorder) in all.iter().zip(&recorders) {
            let row = repositories::get(&tx, found.repository.id).await?;
            if let Some(row) = row.filter(|row| !row.deleted && row.owner_id == owner.id()) {
                entries.push(mark_deleted(&tx, identity, found, &row, recorder, now).await?);
                deleted.push(found);
            }
        }
        audit.record_all(&tx, entries).await?;
        Ok::<_, Error>(deleted)
    });
    let deleted = deleted.await?;
    for found in &deleted {
        after_deletion(context, found);
    }
    Ok(deleted.len())
}

async fn remove(
    context: &Context,
    identity: &Identity,
    found: &FoundRepository,
    expected: &Expected,
) -> Result<(), Error> {
    let (id, now) = (found.repository.id, context.now_ms());
    let recorder = &EventRecorder::new(context);
    let audit = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let row = repositories::get(&tx, id).await?.filter(|row| !row.deleted).ok_or(super::MISSING)?;
            super::require(expected, &row)?;
            audit.record(&tx, mark_deleted(&tx, identity, found, &row, recorder, now).await?).await?;
            Ok::<_, Error>(())
        })
        .await?;
    after_deletion(context, found);
    Ok(())
}

/// Marks a repository as deleted and records the event. Returns the audit entry.
async fn mark_deleted(
    tx: &Tx,
    identity: &Identity,
    found: &FoundRepository,
    row: &Repository,
    recorder: &EventRecorder<'_>,
    now: Millis,
) -> Result<Entry, Error> {
    let actor = &Actor::of(identity);
    let subject = Subject { repository: row, owner: &found.owner, actor };
    recorder.record(tx, subject, &[EventKind::Repository { action: "deleted", before: Vec::new() }]).await?;
    if is_complete(row) {
        repositories::set_deleted(tx, row, found.path(), identity.user_id(), now);
        forks::removed(tx, row).await?;
    } else {
        // An unfinished migration: the repository was never usable, so there is nothing to restore.
        repositories::discard(tx, row).await?;
    }
    let entry = Entry::new(audit::Action::RepositoryDelete, Object::repository(row, found.owner.name()));
    Ok(entry.had("private", row.private).had("size_bytes", row.size_bytes))
}

/// Wakes background tasks after the commit of a deletion.
fn after_deletion(context: &Context, found: &FoundRepository) {
    context.migrations.cancel(found.repository.id);
    shared_tasks::repository_deleted(context, found.repository.id);
    context.sweep.now();
}

/// Returns whether the repository was ever usable: it was not migrated, or its migration finished.
fn is_complete(row: &Repository) -> bool {
    row.migration.as_ref().is_none_or(|migration| migration.state() == MigrationState::Done)
}

/// Handles a few deleted repositories: cancels their live jobs, ends the retention that is over, and removes those that
/// cannot be restored. Returns whether there may be more.
pub async fn sweep(context: &Context) -> Result<bool, Error> {
    let mut more = cancel_jobs(context).await?;
    more |= end_retention(context).await?;
    more |= transfer::end_offers(context).await?;
    more |= reclaim_some(context).await?;
    Ok(more)
}

/// Returns when the retention of the next deleted repository or the next offer of a repository ends.
pub async fn next_due_ms(context: &Context) -> Result<Option<Millis>, Error> {
    let first = repositories::first_deleted_ms(&context.store.read().await?).await?;
    let retention = first.map(|since| deleted::kept_until_ms(context, since));
    Ok([retention, transfer::next_offer_end_ms(context).await?].into_iter().flatten().min())
}

async fn cancel_jobs(context: &Context) -> Result<bool, Error> {
    let rows = repositories::with_jobs_to_cancel(&context.store.read().await?, SWEEP_MAX).await?;
    for row in &rows {
        cancel_jobs_of(context, row.id).await?;
    }
    Ok(rows.len() == SWEEP_MAX)
}

/// Cancels the jobs of a deleted repository that were live when it was deleted, so that a restored
/// repository has no job whose token works again.
pub(in crate::service) async fn cancel_jobs_of(context: &Context, id: u64) -> Result<(), Error> {
    ci::cancel_of_deleted(context, id).await?;
    context
        .store
        .write(async |tx: Tx| {
            // Jobs cannot begin in a deleted repository, so there are no new ones.
            if let Some(before) = repositories::get(&tx, id).await?.filter(|row| row.cancel_jobs) {
                repositories::put(&tx, Some(&before), &Repository { cancel_jobs: false, ..before.clone() });
            }
            Ok::<_, Error>(())
        })
        .await
}

async fn end_retention(context: &Context) -> Result<bool, Error> {
    let until = deleted::retention_over_until_ms(context);
    let due = repositories::deleted_until(&context.store.read().await?, until, SWEEP_MAX).await?;
    for row in &due {
        end_retention_of(context, row.id, until, audit::Action::RetentionDelete).await?;
    }
    Ok(due.len() == SWEEP_MAX)
}

/// Ends the retention of a repository that was deleted at `until_ms` or before: it can no longer be restored, and the
/// sweep removes it. Returns whether there was one. `action`: the audited action.
///
/// This step gives up data that users pushed. It is decided in the transaction that reads the row, so a restore that
/// was committed first keeps the repository.
pub(in crate::service) async fn end_retention_of(
    context: &Context,
    id: u64,
    until_ms: Millis,
    action: audit::Action,
) -> Result<bool, Error> {
    let audit = &AuditRecorder::new(context);
    let ended = context.store.write(async |tx: Tx| {
        let row = repositories::get(&tx, id).await?;
        let row = row.filter(|row| row.deleted && row.deleted_ms != 0 && row.deleted_ms <= until_ms);
        if let Some(row) = &row {
            repositories::discard(&tx, row).await?;
            let entry = Entry::new(action, Object::deleted_repository(row));
            audit.record(&tx, entry.had("deleted_at", show::time(row.deleted_ms))).await?;
        }
        Ok::<_, Error>(row)
    });
    let ended = ended.await?;
    if let Some(row) = &ended {
        tracing::info!(repository = id, path = row.deleted_path, "a deleted repository is removed permanently");
    }
    Ok(ended.is_some())
}

async fn reclaim_some(context: &Context) -> Result<bool, Error> {
    let snapshot: Snapshot = context.store.read().await?;
    let rows = repositories::garbage(&snapshot, SWEEP_MAX).await?;
    drop(snapshot);
    let mut reclaimed = 0;
    // Repositories with a running import or run of a mirror wait: its end wakes the sweep.
    let is_idle = |id| migrations::has_ended(context, id) && !context.mirrors.is_running(id);
    for row in rows.iter().filter(|row| is_idle(row.id)) {
        if shared_tasks::is_importing(context, &context.store.read().await?, row.id).await? {
            continue;
        }
        // After the row was read: a backup whose snapshot has the repository reads its files. The end of the backup
        // wakes the sweep.
        if context.git.removals().is_held() {
            return Ok(false);
        }
        reclaim(context, row).await?;
        reclaimed += 1;
    }
    Ok(reclaimed == SWEEP_MAX)
}

/// Removes runs with their artifacts, cache entries, files and row of a repository whose row says that it cannot be
/// restored. Removes the files before the row, so that an interrupted removal is repeated.
async fn reclaim(context: &Context, row: &Repository) -> Result<(), Error> {
    let now = context.now_ms();
    ci::delete_of_repository(context, row.id).await?;
    caches::delete_of_repository(context, row.id).await?;
    context.git.remove(row.id).await.map_err(Error::git("removing a repository"))?;
    // The row says that the repository cannot be restored, so nothing refers to its statuses, releases, stars, deploy
    // keys, rules and refs.
    while !context.store.write(async |tx: Tx| statuses::delete_some(&tx, row.id, ROWS_AT_ONCE).await).await? {}
    while !context.store.write(async |tx: Tx| releases::delete_some(&tx, row.id, ROWS_AT_ONCE, now).await).await? {}
    while !context.store.write(async |tx: Tx| lfs::delete_some(&tx, row.id, ROWS_AT_ONCE, now).await).await? {}
    while !context.store.write(async |tx: Tx| interests::delete_some(&tx, row.id, ROWS_AT_ONCE).await).await? {}
    while !context.store.write(async |tx: Tx| ssh_keys::delete_some(&tx, row.id, ROWS_AT_ONCE).await).await? {}
    while !context.store.write(async |tx: Tx| forks::detach_some(&tx, row.id, ROWS_AT_ONCE).await).await? {}
    while !context.store.write(async |tx: Tx| refs::forget_some(&tx, row.id, ROWS_AT_ONCE).await).await? {}
    context
        .store
        .write(async |tx: Tx| {
            ref_rules::delete_all(&tx, row.id).await?;
            mirrors::delete_all(&tx, row.id).await?;
            hooks::retire(&tx, row.id, now).await?;
            Ok::<_, Error>(repositories::forget(&tx, row).await?)
        })
        .await
}
