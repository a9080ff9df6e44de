//! Deleted repositories: list, restore, purge.

use farrier_proto::store::Repository;

use super::{ListQuery, PASSED_MAX, Page, STEP, kept_until_ms};
use crate::{
    app::App,
    clock::Millis,
    model::identity::Identity,
    service::{
        Error,
        access::{self, AccessLevel},
        events::{Actor, EventKind, EventRecorder, Subject},
        repositories::{self, Found, rules},
    },
    store::{
        Read, Tx,
        owners::{self, Owner},
        repositories as rows,
    },
};

const MISSING: Error = Error::NotFound { what: "the deleted repository" };

/// A deleted repository.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The repository.
    pub row: Repository,
    /// Name of the account that deleted it; empty: none, or it no longer exists.
    pub deleted_by: String,
    /// Whether its owner still exists.
    pub owner_exists: bool,
    /// Until when it can be restored.
    pub kept_until_ms: Millis,
}

/// Where to restore a repository.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Name of the new owner; `None`: the owner it had.
    pub owner: Option<String>,
    /// New name; `None`: the name it had.
    pub name: Option<String>,
}

/// Deleted repositories, the last deleted first. For administrators.
pub async fn page(app: &App, identity: &Identity, query: &ListQuery) -> Result<Page<Entry>, Error> {
    access::require_site_admin(identity)?;
    let read = &app.store.read().await?;
    let (mut page, mut passed, mut after) = (Page { entries: Vec::new(), next: None }, 0, query.after);
    loop {
        let found = rows::newest_deleted(read, after, STEP).await?;
        let whole = found.len() == STEP;
        for row in found {
            if page.entries.len() == query.limit || passed == PASSED_MAX {
                page.next = after;
                return Ok(page);
            }
            after = Some((row.deleted_ms, row.id));
            if query.takes(&row.deleted_path) {
                page.entries.push(entry(app, read, row).await?);
            } else {
                passed += 1;
            }
        }
        if !whole {
            return Ok(page);
        }
    }
}

/// The deleted repository with number `id`. For administrators.
pub async fn get(app: &App, identity: &Identity, id: u64) -> Result<Entry, Error> {
    access::require_site_admin(identity)?;
    let read = &app.store.read().await?;
    entry(app, read, deleted(read, id).await?).await
}

async fn entry(app: &App, read: &impl Read, row: Repository) -> Result<Entry, Error> {
    let deleted_by = owners::user(read, row.deleted_by).await?.map(|user| user.name).unwrap_or_default();
    let owner_exists = owners::owner(read, row.owner_kind(), row.owner_id).await?.is_some();
    let kept_until_ms = kept_until_ms(app, row.deleted_ms);
    Ok(Entry { row, deleted_by, owner_exists, kept_until_ms })
}

async fn deleted(read: &impl Read, id: u64) -> Result<Repository, Error> {
    rows::get(read, id).await?.filter(|row| row.deleted && row.deleted_ms != 0).ok_or(MISSING)
}

/// Restores a deleted repository with everything that belongs to it. For administrators; the owner's
/// limit on repositories does not apply.
pub async fn restore(app: &App, identity: &Identity, id: u64, target: &Target) -> Result<Found, Error> {
    access::require_site_admin(identity)?;
    if let Some(name) = &target.name {
        rules::name("name", name)?;
    }
    deleted(&app.store.read().await?, id).await?;
    repositories::cancel_jobs_of(app, id).await?;
    let (recorder, actor) = (&EventRecorder::reserve(app, 1).await?, &Actor::of(identity));
    app.store
        .write(async |tx: Tx| {
            let before = deleted(&tx, id).await?;
            let owner = new_owner(&tx, &before, target).await?;
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
                listed: rows::class(owner.visibility(), before.private).into(),
                ..before.clone()
            };
            if !rows::restore(&tx, &before, &row).await? {
                let path = format!("{}/{}", owner.name(), row.name);
                let message = format!(
                    "the repository {path} exists: rename or delete it, or restore the deleted one under another name"
                );
                return Err(Error::Exists { message });
            }
            // An owner needs no right of a collaborator.
            rows::set_collaborator(&tx, id, owner.id(), farrier_proto::store::Permission::None);
            let subject = Subject { repository: &row, owner: &owner, actor };
            recorder
                .record(&tx, subject, &[EventKind::Repository { action: EventKind::RESTORED, before: Vec::new() }])
                .await?;
            Ok(Found { repository: row, owner, access_level: AccessLevel::Owner })
        })
        .await
}

async fn new_owner(tx: &Tx, row: &Repository, target: &Target) -> Result<Owner, Error> {
    if let Some(name) = &target.owner {
        return owners::owner_by_name(tx, name).await?.ok_or_else(|| Error::Conflict {
            reason: format!("there is no user or organisation {name}: name an owner that exists"),
        });
    }
    owners::owner(tx, row.owner_kind(), row.owner_id).await?.ok_or_else(|| Error::Conflict {
        reason: format!("the owner of {} no longer exists: name another owner", row.deleted_path),
    })
}

/// Removes a deleted repository permanently, now instead of at the end of its retention. For
/// administrators.
pub async fn purge(app: &App, identity: &Identity, id: u64) -> Result<(), Error> {
    access::require_site_admin(identity)?;
    if !repositories::end_retention_of(app, id, Millis::MAX).await? {
        return Err(MISSING);
    }
    app.sweep.now();
    Ok(())
}
