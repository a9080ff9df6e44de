//! Lists, restores and purges deleted repositories.

use farrier_proto::store::Repository;

use super::{DeletedPage, DeletedQuery, SKIPPED_MAX, STEP, kept_until_ms};
use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{
        Context, Error,
        access::{self, AccessLevel},
        audit::{Action, AuditRecorder, Entry, Object},
        events::{Actor, EventKind, EventRecorder, Subject},
        repositories::{self, FoundRepository, rules},
    },
    store::{
        Read, Tx,
        owners::{self, Owner},
        ref_rules,
        repositories::{self as rows, forks},
        teams,
    },
};

const MISSING: Error = Error::NotFound { what: "the deleted repository" };

/// A deleted repository.
#[derive(Clone, Debug)]
pub struct DeletedRepository {
    /// The repository.
    pub row: Repository,
    /// Name of the account that deleted it. Empty: none did, or it no longer exists.
    pub deleted_by: String,
    /// Whether its owner still exists.
    pub owner_exists: bool,
    /// Until when it can be restored.
    pub kept_until_ms: Millis,
}

/// Owner and name for a restored repository.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Name of the new owner. `None`: the previous owner.
    pub owner: Option<String>,
    /// The new name. `None`: the previous name.
    pub name: Option<String>,
}

/// Returns a page of the deleted repositories, last deleted first. Requires a site administrator.
pub async fn page(
    context: &Context,
    identity: &Identity,
    query: &DeletedQuery,
) -> Result<DeletedPage<DeletedRepository>, Error> {
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
            if query.matches(&row.deleted_path) {
                page.entries.push(entry(context, read, row).await?);
            } else {
                skipped += 1;
            }
        }
        if !is_full_batch {
            return Ok(page);
        }
    }
}

/// Returns the deleted repository `id`. Requires a site administrator.
pub async fn get(context: &Context, identity: &Identity, id: u64) -> Result<DeletedRepository, Error> {
    access::require_site_admin(identity)?;
    let read = &context.store.read().await?;
    entry(context, read, deleted(read, id).await?).await
}

async fn entry(context: &Context, read: &impl Read, row: Repository) -> Result<DeletedRepository, Error> {
    let deleted_by = owners::user(read, row.deleted_by).await?.map(|user| user.name).unwrap_or_default();
    let owner_exists = owners::owner(read, row.owner_kind(), row.owner_id).await?.is_some();
    let kept_until_ms = kept_until_ms(context, row.deleted_ms);
    Ok(DeletedRepository { row, deleted_by, owner_exists, kept_until_ms })
}

async fn deleted(read: &impl Read, id: u64) -> Result<Repository, Error> {
    rows::get(read, id).await?.filter(|row| row.deleted && row.deleted_ms != 0).ok_or(MISSING)
}

/// Restores a deleted repository with everything that belongs to it. Requires a site administrator. The owner's limit
/// on the number of repositories does not apply.
pub async fn restore(
    context: &Context,
    identity: &Identity,
    id: u64,
    target: &Target,
) -> Result<FoundRepository, Error> {
    access::require_site_admin(identity)?;
    if let Some(name) = &target.name {
        rules::name("name", name)?;
    }
    deleted(&context.store.read().await?, id).await?;
    repositories::cancel_jobs_of(context, id).await?;
    let (recorder, actor) = (&EventRecorder::new(context), &Actor::of(identity));
    let audit = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let before = deleted(&tx, id).await?;
            let owner = new_owner(&tx, &before, target).await?;
            // A fork is as visible as its source, which may have been changed meanwhile.
            let parent = rows::get(&tx, before.parent).await?;
            let source = parent.as_ref().filter(|parent| !parent.deleted);
            let private = match source {
                Some(source) => forks::are_private(&tx, source).await?,
                None => before.private,
            };
            let row = Repository {
                deleted: false,
                deleted_ms: 0,
                deleted_by: 0,
                deleted_path: String::new(),
                cancel_jobs: false,
                owner_kind: owner.kind().into(),
                owner_id: owner.id(),
                name: target.name.clone().unwrap_or_else(|| before.name.clone()),
                // The owner's visibility may have changed.
                private,
                parent: parent.map_or(0, |parent| parent.id),
                listed: rows::class(owner.visibility(), private).into(),
                ..before.clone()
            };
            if !rows::restore(&tx, &before, &row).await? {
                let path = format!("{}/{}", owner.name(), row.name);
                let message = format!(
                    "the repository {path} exists: rename or delete it, or restore the deleted one under another name"
                );
                return Err(Error::Exists { message });
            }
            forks::added(&tx, &row).await?;
            forks::detach_differing(&tx, &row).await?;
            // The new owner may have been a collaborator before.
            rows::set_collaborator(&tx, id, owner.id(), farrier_proto::store::Permission::None);
            if owner.id() != before.owner_id {
                // As in a transfer: teams of the previous owner have no rights any more.
                teams::remove_repository(&tx, id).await?;
                ref_rules::remove_teams(&tx, id).await?;
            }
            let subject = Subject { repository: &row, owner: &owner, actor };
            recorder
                .record(&tx, subject, &[EventKind::Repository { action: EventKind::RESTORED, before: Vec::new() }])
                .await?;
            let path = format!("{}/{}", owner.name(), row.name);
            let entry = Entry::new(Action::RepositoryRestore, Object::repository(&row, owner.name()));
            audit.record(&tx, entry.field("path", before.deleted_path.as_str(), &path)).await?;
            Ok(FoundRepository { repository: row, owner, access_level: AccessLevel::Owner })
        })
        .await
}

async fn new_owner(tx: &Tx, row: &Repository, target: &Target) -> Result<Owner, Error> {
    if let Some(name) = &target.owner {
        return owners::owner_by_name(tx, name).await?.ok_or_else(|| Error::Conflict {
            reason: format!("the user or organization {name} does not exist: name an existing owner"),
        });
    }
    owners::owner(tx, row.owner_kind(), row.owner_id).await?.ok_or_else(|| Error::Conflict {
        reason: format!("the owner of {} no longer exists: name another owner", row.deleted_path),
    })
}

/// Removes a deleted repository permanently, before the end of its retention. Requires a site administrator.
pub async fn purge(context: &Context, identity: &Identity, id: u64) -> Result<(), Error> {
    access::require_site_admin(identity)?;
    if !repositories::end_retention_of(context, id, Millis::MAX, Action::RepositoryPurge).await? {
        return Err(MISSING);
    }
    context.sweep.now();
    Ok(())
}
