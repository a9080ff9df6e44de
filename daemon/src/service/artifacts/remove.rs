//! Deletes and expires artifacts.

use farrier_proto::store::{Artifact, ArtifactState};

use super::{MISSING, across, rows, visible};
use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{
        Context, Error,
        access::Action,
        audit::{self, AuditRecorder, Entry, Object},
        authentication::JobIdentity,
        deleted,
    },
    store::{StoreError, Tx},
};

/// Artifacts to delete per transaction.
const BATCH: usize = 100;

/// Deletes an artifact of the job's run by name and returns its id. An administrator can restore it until its retention
/// ends.
pub async fn delete_in_run(context: &Context, job: &JobIdentity, job_id: &str, name: &str) -> Result<u64, Error> {
    let found = super::find_in_run(context, job, job_id, name).await?;
    let now = context.now_ms();
    remove(context, found.row.id, 0, now, |row| visible(row, now).is_some()).await
}

/// Deletes the finalized or expired artifact `id` of a repository.
pub async fn delete(context: &Context, identity: &Identity, repository: u64, id: u64) -> Result<(), Error> {
    let is_target = |row: &Artifact| row.repository_id == repository && row.content.is_some() && row.deleted_ms == 0;
    remove(context, id, identity.user_id(), context.now_ms(), is_target).await.map(drop)
}

/// Deletes finalized or expired artifacts of any repositories. Returns one result per id, in the same order. A failure
/// does not stop the others.
pub async fn delete_many(context: &Context, identity: &Identity, ids: &[u64]) -> Result<Vec<Result<(), Error>>, Error> {
    let mut outcomes = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(BATCH) {
        let snapshot = context.store.read().await?;
        // The repository of each artifact that the caller may delete.
        let mut allowed = Vec::with_capacity(chunk.len());
        for id in chunk {
            allowed.push(match across::get(&snapshot, identity, *id, Action::WriteActions).await {
                Err(error @ Error::Store { .. }) => return Err(error),
                found => found.map(|(entry, _)| (*id, entry.row.repository_id)),
            });
        }
        drop(snapshot);
        let now = context.now_ms();
        let to_delete = &allowed;
        let recorder = &AuditRecorder::new(context);
        let deleted_each = context
            .store
            .write(async |tx: Tx| {
                let (mut deleted_each, mut entries) = (Vec::with_capacity(to_delete.len()), Vec::new());
                for (id, repository) in to_delete.iter().flatten() {
                    let row = rows::get(&tx, *id).await?.filter(|row| row.repository_id == *repository);
                    let row = row.filter(|row| row.content.is_some() && row.deleted_ms == 0);
                    deleted_each.push(row.is_some());
                    if let Some(row) = row {
                        rows::set_deleted(&tx, &row, identity.user_id(), now);
                        entries.push(deletion(&tx, &row).await?);
                    }
                }
                recorder.record_all(&tx, entries).await?;
                Ok::<_, Error>(deleted_each)
            })
            .await?;
        wake(context, now);
        let mut deleted_each = deleted_each.into_iter();
        outcomes.extend(allowed.into_iter().map(|allowed| match allowed {
            Ok(_) if deleted_each.next() == Some(true) => Ok(()),
            Ok(_) => Err(MISSING),
            Err(error) => Err(error),
        }));
    }
    Ok(outcomes)
}

/// Removes all artifacts of a run, in any state, permanently. Its repository is being removed, and nothing can restore
/// them.
pub async fn delete_of_run(context: &Context, run: u64) -> Result<(), Error> {
    let now = context.now_ms();
    loop {
        let snapshot = context.store.read().await?;
        // Artifacts with a name, expired ones, and ones that were deleted earlier.
        let mut batch = rows::named_of_run(&snapshot, run, BATCH).await?;
        batch.extend(rows::deleted_of_run(&snapshot, run, BATCH).await?);
        batch.extend(rows::next(&snapshot, rows::ArtifactList::Run(run), None, BATCH).await?);
        drop(snapshot);
        if batch.is_empty() {
            return Ok(());
        }
        let batch = &batch;
        context
            .store
            .write(async |tx: Tx| {
                for artifact in batch {
                    if let Some(row) = rows::get(&tx, artifact.id).await? {
                        rows::delete(&tx, &row, now);
                    }
                }
                Ok::<_, Error>(())
            })
            .await?;
        context.sweep.due_at(now);
    }
}

async fn remove(
    context: &Context,
    id: u64,
    by: u64,
    now: Millis,
    is_target: impl Fn(&Artifact) -> bool + Sync,
) -> Result<u64, Error> {
    let is_target = &is_target;
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let row = rows::get(&tx, id).await?.filter(|row| is_target(row)).ok_or(MISSING)?;
            rows::set_deleted(&tx, &row, by, now);
            recorder.record(&tx, deletion(&tx, &row).await?).await?;
            Ok::<_, Error>(())
        })
        .await?;
    wake(context, now);
    Ok(id)
}

/// Returns the audit entry of a deletion.
async fn deletion(tx: &Tx, row: &Artifact) -> Result<Entry, StoreError> {
    let size = row.content.as_ref().map_or(0, |content| content.size);
    let entry = Entry::new(audit::Action::ArtifactDelete, Object::artifact(tx, row).await?);
    Ok(entry.had("size_bytes", size).had("run_id", row.run_id))
}

/// Wakes the sweep now for artifacts without content, and again when the retention of the others ends.
fn wake(context: &Context, now: Millis) {
    context.sweep.due_at(now);
    context.sweep.due_at(deleted::kept_until_ms(context, now));
}

/// Expires an artifact: discards its bytes and frees its name. Keeps the row, so that the API can still list the
/// artifact as expired.
pub(super) fn expire(tx: &Tx, before: &Artifact, now: Millis) {
    if before.deleted_ms != 0 {
        // A deleted artifact that has expired cannot be restored, so its row is removed.
        return rows::delete(tx, before, now);
    }
    let mut row = before.clone();
    row.set_state(ArtifactState::Expired);
    row.updated_ms = now;
    let upload = row.upload.take().map(|upload| upload.generation);
    let content = row.content.as_ref().map(|content| content.generation);
    for generation in [upload, content].into_iter().flatten() {
        rows::discard(tx, row.id, generation, now);
    }
    rows::put(tx, Some(before), &row);
}

/// Drops an upload that was never finalized, and the artifact if it has no other content.
pub(super) fn abandon(tx: &Tx, before: &Artifact, now: Millis) {
    rows::abandon(tx, before, now);
}
