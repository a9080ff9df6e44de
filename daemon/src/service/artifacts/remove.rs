//! The end of artifacts: deleted by somebody, or their time is over.

use farrier_proto::store::{Artifact, ArtifactState};

use super::{MISSING, across, rows, visible};
use crate::{
    app::App,
    clock::Millis,
    model::identity::Identity,
    service::{Error, access::Action, authentication::JobIdentity, deleted},
    store::Tx,
};

/// Artifacts that one transaction deletes.
const BATCH: usize = 100;

/// Deletes an artifact of the job's run by name and returns its number. An administrator can restore
/// it for a while.
pub async fn delete_in_run(app: &App, job: &JobIdentity, job_id: &str, name: &str) -> Result<u64, Error> {
    let found = super::find_in_run(app, job, job_id, name).await?;
    let now = app.now_ms();
    remove(app, found.row.id, 0, now, |row| visible(row, now).is_some()).await
}

/// Deletes the finalized or expired artifact `id` of a repository.
pub async fn delete(app: &App, identity: &Identity, repository: u64, id: u64) -> Result<(), Error> {
    let meant = |row: &Artifact| row.repository_id == repository && row.content.is_some() && row.deleted_ms == 0;
    remove(app, id, identity.user_id(), app.now_ms(), meant).await.map(drop)
}

/// Deletes finalized or expired artifacts of any repositories. What came of each is told in their
/// order; one that cannot be deleted keeps none back.
pub async fn delete_many(app: &App, identity: &Identity, ids: &[u64]) -> Result<Vec<Result<(), Error>>, Error> {
    let mut outcomes = Vec::with_capacity(ids.len());
    for some in ids.chunks(BATCH) {
        let snapshot = app.store.read().await?;
        // Of which repository each is, as far as the caller may delete it.
        let mut allowed = Vec::with_capacity(some.len());
        for id in some {
            allowed.push(match across::get(&snapshot, identity, *id, Action::WriteActions).await {
                Err(error @ Error::Store { .. }) => return Err(error),
                found => found.map(|(entry, _)| (*id, entry.row.repository_id)),
            });
        }
        drop(snapshot);
        let now = app.now_ms();
        let wanted = &allowed;
        let there = app
            .store
            .write(async |tx: Tx| {
                let mut there = Vec::with_capacity(wanted.len());
                for (id, repository) in wanted.iter().flatten() {
                    let row = rows::get(&tx, *id).await?.filter(|row| row.repository_id == *repository);
                    let row = row.filter(|row| row.content.is_some() && row.deleted_ms == 0);
                    there.push(row.is_some());
                    if let Some(row) = row {
                        rows::set_deleted(&tx, &row, identity.user_id(), now);
                    }
                }
                Ok::<_, Error>(there)
            })
            .await?;
        wake(app, now);
        let mut there = there.into_iter();
        outcomes.extend(allowed.into_iter().map(|allowed| match allowed {
            Ok(_) if there.next() == Some(true) => Ok(()),
            Ok(_) => Err(MISSING),
            Err(error) => Err(error),
        }));
    }
    Ok(outcomes)
}

/// Removes all artifacts of a run of a repository that is being removed, in any state: nothing restores
/// them.
pub async fn delete_of_run(app: &App, run: u64) -> Result<(), Error> {
    let now = app.now_ms();
    loop {
        let snapshot = app.store.read().await?;
        // Those that have a name, those whose time is over, and those that were deleted before.
        let mut some = rows::named_of_run(&snapshot, run, BATCH).await?;
        some.extend(rows::deleted_of_run(&snapshot, run, BATCH).await?);
        some.extend(rows::next(&snapshot, rows::ArtifactList::Run(run), None, BATCH).await?);
        drop(snapshot);
        if some.is_empty() {
            return Ok(());
        }
        let some = &some;
        app.store
            .write(async |tx: Tx| {
                for artifact in some {
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
    meant: impl Fn(&Artifact) -> bool + Sync,
) -> Result<u64, Error> {
    let meant = &meant;
    app.store
        .write(async |tx: Tx| {
            let row = rows::get(&tx, id).await?.filter(|row| meant(row)).ok_or(MISSING)?;
            rows::set_deleted(&tx, &row, by, now);
            Ok::<_, Error>(())
        })
        .await?;
    wake(app, now);
    Ok(id)
}

/// What had nothing to restore goes now, the rest when its retention ends.
fn wake(app: &App, now: Millis) {
    app.sweep.due_at(now);
    app.sweep.due_at(deleted::kept_until_ms(app, now));
}

/// Takes the bytes and the name from an artifact whose time is over. The row stays, so that the
/// API can say that there was one.
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
