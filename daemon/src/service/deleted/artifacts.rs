//! Lists, restores and purges deleted artifacts.

use farrier_proto::store::{Artifact, Repository, Run};

use super::{DeletedPage, DeletedQuery, SKIPPED_MAX, STEP, kept_until_ms};
use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{
        Context, Error, access,
        artifacts::across,
        audit::{Action, AuditRecorder, Entry, Object},
    },
    store::{Read, Tx, artifacts as rows, owners, repositories, runs},
};

const MISSING: Error = Error::NotFound { what: "the deleted artifact" };

/// A deleted artifact.
#[derive(Clone, Debug)]
pub struct DeletedArtifact {
    /// The artifact.
    pub row: Artifact,
    /// Its run.
    pub run: Run,
    /// Its repository, `owner/name`. For a deleted repository, its path before the deletion.
    pub path: String,
    /// Whether its repository is deleted too.
    pub repository_deleted: bool,
    /// Name of the account that deleted it. Empty: a job or a local CI agent deleted it, or the account no longer
    /// exists.
    pub deleted_by: String,
    /// Until when it can be restored: the end of its retention, or its expiry.
    pub kept_until_ms: Millis,
}

/// Returns a page of the deleted artifacts, last deleted first. Requires a site administrator.
pub async fn page(
    context: &Context,
    identity: &Identity,
    query: &DeletedQuery,
) -> Result<DeletedPage<DeletedArtifact>, Error> {
    access::require_site_admin(identity)?;
    let read = &context.store.read().await?;
    let (mut page, mut skipped, mut after) = (DeletedPage { entries: Vec::new(), next: None }, 0, query.after);
    loop {
        let found = rows::newest_deleted(read, after, STEP).await?;
        let is_full_batch = found.len() == STEP;
        for row in found {
            if page.entries.len() == query.limit || skipped == SKIPPED_MAX {
                page.next = after;
                return Ok(page);
            }
            after = Some((row.deleted_ms, row.id));
            let entry = entry(context, read, row).await?;
            if query.matches(&entry.path) {
                page.entries.push(entry);
            } else {
                skipped += 1;
            }
        }
        if !is_full_batch {
            return Ok(page);
        }
    }
}

/// Returns the deleted artifact `id`. Requires a site administrator.
pub async fn get(context: &Context, identity: &Identity, id: u64) -> Result<DeletedArtifact, Error> {
    access::require_site_admin(identity)?;
    let read = &context.store.read().await?;
    let row = deleted(read, id).await?;
    entry(context, read, row).await
}

async fn entry(context: &Context, read: &impl Read, row: Artifact) -> Result<DeletedArtifact, Error> {
    let repository = repositories::get(read, row.repository_id).await?;
    let repository_deleted = repository.as_ref().is_none_or(|repository| repository.deleted);
    let path = match repository {
        Some(repository) if repository.deleted => repository.deleted_path,
        Some(repository) => path_of(read, &repository).await?,
        None => String::new(),
    };
    let run = runs::run(read, row.run_id).await?.unwrap_or_default();
    let deleted_by = owners::user(read, row.deleted_by).await?.map(|user| user.name).unwrap_or_default();
    let kept_until_ms = kept_until_ms(context, row.deleted_ms).min(row.expires_ms);
    Ok(DeletedArtifact { row, run, path, repository_deleted, deleted_by, kept_until_ms })
}

async fn path_of(read: &impl Read, repository: &Repository) -> Result<String, Error> {
    let owner = owners::owner(read, repository.owner_kind(), repository.owner_id).await?;
    Ok(owner.map_or_else(String::new, |owner| format!("{}/{}", owner.name(), repository.name)))
}

async fn deleted(read: &impl Read, id: u64) -> Result<Artifact, Error> {
    rows::get(read, id).await?.filter(|row| row.deleted_ms != 0).ok_or(MISSING)
}

/// Restores a deleted artifact. Requires a site administrator. Its repository and run must exist; a deleted repository
/// must be restored first.
pub async fn restore(context: &Context, identity: &Identity, id: u64) -> Result<across::FoundArtifact, Error> {
    access::require_site_admin(identity)?;
    let now = context.now_ms();
    let refused = |reason: String| Err(Error::Conflict { reason });
    let recorder = &AuditRecorder::new(context);
    let entry = context
        .store
        .write(async |tx: Tx| {
            let before = deleted(&tx, id).await?;
            if before.expires_ms <= now {
                return refused("the artifact has expired while it was deleted".into());
            }
            let repository = repositories::get(&tx, before.repository_id).await?;
            let Some(repository) = repository.filter(|row| !row.deleted) else {
                return refused(format!(
                    "the repository of the artifact is deleted: restore repository {} first",
                    before.repository_id
                ));
            };
            let Some(run) = runs::run(&tx, before.run_id).await? else {
                return refused(format!("run {} of the artifact no longer exists", before.run_id));
            };
            let Some(row) = rows::restore(&tx, &before, now).await? else {
                let message = format!(
                    "the run has another artifact {}: delete that one before you restore this one",
                    before.name
                );
                return Err(Error::Exists { message });
            };
            let job = runs::job(&tx, row.run_id, row.job_id).await?.unwrap_or_default();
            let path = path_of(&tx, &repository).await?;
            recorder.record(&tx, Entry::new(Action::ArtifactRestore, Object::artifact(&tx, &row).await?)).await?;
            Ok(across::FoundArtifact { row, run, job, path })
        })
        .await?;
    context.sweep.due_at(entry.row.expires_ms);
    Ok(entry)
}

/// Removes a deleted artifact permanently, before the end of its retention. Requires a site administrator.
pub async fn purge(context: &Context, identity: &Identity, id: u64) -> Result<(), Error> {
    access::require_site_admin(identity)?;
    let now = context.now_ms();
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let row = deleted(&tx, id).await?;
            recorder.record(&tx, Entry::new(Action::ArtifactPurge, Object::artifact(&tx, &row).await?)).await?;
            rows::delete(&tx, &row, now);
            Ok::<_, Error>(())
        })
        .await?;
    context.sweep.now();
    Ok(())
}
