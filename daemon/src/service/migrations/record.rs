//! Records a finished migration in the row of the repository.
//!
//! The repository's directory is in its final location by then and is not removed after a failure: the row is written
//! now, or at the next start.

use farrier_proto::store::{MigrationState, Repository};

use crate::{
    git::{import::NewRef, ref_name::HEADS},
    service::{
        Context, Error, bucket_packs,
        commit_outcome::{CommitOutcome, run_until_known},
        events::{Actor, EventKind, EventRecorder, Subject},
        mirrors, packs,
    },
    store::{
        Tx, owners,
        owners::Owner,
        packs as pack_rows,
        refs::{self, Ref},
        repositories,
    },
};

/// A fetched repository in its final location.
#[derive(Debug)]
pub(super) struct ImportedRepository {
    pub(super) head: String,
    pub(super) sha256: bool,
    pub(super) refs: Vec<NewRef>,
    pub(super) bytes: u64,
}

/// Writes the row and the event, with up to `tries` attempts while the outcome is unknown. `None`: the repository was
/// deleted meanwhile.
pub(super) async fn record(
    context: &Context,
    id: u64,
    owner: &Owner,
    actor: &Actor,
    imported: &ImportedRepository,
    tries: u32,
) -> CommitOutcome<Option<Repository>> {
    let (recorder, now) = (&EventRecorder::new(context), context.now_ms());
    let tips: Vec<(String, Ref)> = imported.refs.iter().map(tip).collect();
    let tips = tips.as_slice();
    let packs = match packs::of_new(context, id, imported.sha256, pack_rows::Packs::new()).await {
        Ok(packs) => packs,
        Err(error) => return CommitOutcome::Known(Err(error)),
    };
    let packs = packs.as_ref();
    let recorded = run_until_known(context, tries, async |tx: Tx| {
        let before = repositories::get(&tx, id).await?.filter(|row| !row.deleted);
        let Some(before) = before else { return Ok(None) };
        let mut row = before.clone();
        let migration = row.migration.get_or_insert_default();
        if migration.state() == MigrationState::Done {
            // An earlier attempt was committed, with its event.
            return Ok(Some(before));
        }
        if migration.state() == MigrationState::Failed {
            // Another node has found that this daemon did not renew its row, and has recorded the failure.
            return Ok(None);
        }
        migration.set_state(MigrationState::Done);
        row.default_branch.clone_from(&imported.head);
        row.sha256 = imported.sha256;
        row.size_bytes = imported.bytes;
        let branches = imported.refs.iter().filter(|new| new.name.starts_with(HEADS)).count() as u64;
        row.empty = branches == 0;
        row.branches = Some(branches);
        row.updated_ms = now;
        mirrors::imported(&mut row, now);
        repositories::put(&tx, Some(&before), &row);
        // Not closed: a server that offers plain files can have sent packs with missing objects.
        refs::create(&tx, id, imported.sha256, false, tips);
        if let Some(packs) = packs {
            bucket_packs::require_recent(context, &tx, packs).await?;
            pack_rows::replace(&tx, id, packs).await?;
        }
        let subject = Subject { repository: &row, owner, actor };
        recorder.record(&tx, subject, &[EventKind::Repository { action: "created", before: Vec::new() }]).await?;
        Ok(Some(row))
    })
    .await;
    mirrors::wake(context);
    recorded
}

/// Returns the row of a ref with its name.
fn tip(new: &NewRef) -> (String, Ref) {
    (new.name.clone(), Ref { tip: new.id.clone(), peeled: new.peeled.clone() })
}

/// Finishes the migration of a repository whose directory a stopped daemon had moved but not recorded.
pub(super) async fn finish_interrupted(context: &Context, row: &Repository) -> Result<(), Error> {
    let reading = || Error::git("reading a migrated repository");
    let imported = ImportedRepository {
        head: context.git.head(row.id).await.map_err(reading())?.unwrap_or_else(|| row.default_branch.clone()),
        sha256: context.git.is_sha256(row.id).await,
        refs: context.git.new_refs(row.id).await.map_err(reading())?,
        bytes: context.git.size_bytes(row.id).await.map_err(reading())?,
    };
    let snapshot = context.store.read().await?;
    let owner = owners::owner(&snapshot, row.owner_kind(), row.owner_id).await?;
    let owner = owner.ok_or(Error::NotFound { what: "the owner" })?;
    let actor = Actor::find(&snapshot, row.migration.as_ref().map_or(0, |migration| migration.actor_id)).await?;
    drop(snapshot);
    record(context, row.id, &owner, &actor, &imported, 1).await.result().map(drop)
}
