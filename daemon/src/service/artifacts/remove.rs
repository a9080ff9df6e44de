//! Deletes and expires artifacts.

use farrier_proto::store::{Artifact, ArtifactState};

use super::{MISSING, across, rows, visible};
use crate::{
    app::App,
    clock::Millis,
    model::identity::Identity,
    service::{Error, access::Action, authentication::JobIdentity, deleted},
    store::Tx,
};

/// Artifacts to delete per transaction.
const BATCH: usize = 100;

/// Deletes an artifact of the job's run by name and returns its id. An administrator can restore it until its retention
/// ends.
pub async fn delete_in_run(app: &App, job: &JobIdentity, job_id: &str, name: &str) -> Result<u64, Error> {
    let found = super::find_in_run(app, job, job_id, name).await?;
    let now = app.now_ms();
    remove(app, found.row.id, 0, now, |row| visible(row, now).is_some()).await
}

/// Deletes the finalized or expired artifact `id` of a repository.
pub async fn delete(app: &App, identity: &Identity, repository: u64, id: u64) -> Result<(), Error> {
    let is_target = |row: &Artifact| row.repository_id == repository && row.content.is_some() && row.deleted_ms == 0;
    remove(app, id, identity.user_id(), app.now_ms(), is_target).await.map(drop)
}

/// Deletes finalized or expired artifacts of any repositories. Returns one result per id, in the same order. A failure
/// does not stop the others.
pub async fn delete_many(app: &App, identity: &Identity, ids: &[u64]) -> Result<Vec<Result<(), Error>>, Error> {
    let mut outcomes = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(BATCH) {
        let snapshot = app.store.read().await?;
        // The repository of each artifact that the caller may delete.
        let mut allowed = Vec::with_capacity(chunk.len());
        for id in chunk {
            allowed.push(match across::get(&snapshot, identity, *id, Action::WriteActions).await {
                Err(error @ Error::Store { .. }) => return Err(error),
                found => found.map(|(entry, _)| (*id, entry.row.repository_id)),
            });
        }
        drop(snapshot);
        let now = app.now_ms();
        let to_delete = &allowed;
        let deleted_each = app
            .store
            .write(async |tx: Tx| {
                let mut deleted_each = Vec::with_capacity(to_delete.len());
                for (id, repository) in to_delete.iter().flatten() {
                    let row = rows::get(&tx, *id).await?.filter(|row| row.repository_id == *repository);
                    let row = row.filter(|row| row.content.is_some() && row.deleted_ms == 0);
                    deleted_each.push(row.is_some());
                    if let Some(row) = row {
                        rows::set_deleted(&tx, &row, identity.user_id(), now);
                    }
                }
                Ok::<_, Error>(deleted_each)
            })
            .await?;
        wake(app, now);
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
pub async fn delete_of_run(app: &App, run: u64) -> Result<(), Error> {
    let now = app.now_ms();
    loop {
        let snapshot = app.store.read().await?;
        // Artifacts with a name, expired ones, and ones that were deleted earlier.
        let mut batch = rows::named_of_run(&snapshot, run, BATCH).await?;
        batch.extend(rows::deleted_of_run(&snapshot, run, BATCH).await?);
        batch.extend(rows::next(&snapshot, rows::ArtifactList::Run(run), None, BATCH).await?);
        drop(snapshot);
        if batch.is_empty() {
            return Ok(());
        }
        let batch = &batch;
        app.store
            .write(async |tx: Tx| {
                for artifact in batch {
                    if let Some(row) = rows::get(&tx, artifact.id).await? {
                        rows::delete(&tx, &row, now);
                    }
                }
                Ok::<_, Error>(())
            })
            .await?;
        app.sweep.due_at(now);
    }
}

async fn remove(
    app: &App,
    id: u64,
    by: u64,
    now: Millis,
    is_target: impl Fn(&Artifact) -> bool + Sync,
) -> Result<u64, Error> {
    let is_target = &is_target;
    app.store
        .write(async |tx: Tx| {
            let row = rows::get(&tx, id).await?.filter(|row| is_target(row)).ok_or(MISSING)?;
            rows::set_deleted(&tx, &row, by, now);
            Ok::<_, Error>(())
        })
        .await?;
    wake(app, now);
    Ok(id)
}

/// Wakes the sweep now for artifacts without content, and again when the retention of the others ends.
fn wake(app: &App, now: Millis) {
    app.sweep.due_at(now);
    app.sweep.due_at(deleted::kept_until_ms(app, now));
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
