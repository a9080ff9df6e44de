//! The settings of pull mirrors.

use std::time::Duration;

use farrier_common::api::{EditRepository, MigrateRepository};
use farrier_proto::store::{Mirror, MirrorRemote, Repository};

use super::runs;
use crate::{
    clock::Millis,
    model::{go_duration, identity::Identity},
    service::{
        Context, Error,
        access::{self, Action},
        audit::{self, AuditRecorder, Entry, Object},
        migrations,
        repositories::{self, FoundRepository},
    },
    store::{Tx, mirrors, repositories as rows},
};

/// Checks the fields of an import that are about mirrors. `None`: the repository will be no mirror.
pub(in crate::service) fn settings_of_import(
    context: &Context,
    input: &MigrateRepository,
) -> Result<Option<Mirror>, Error> {
    let interval_ms = interval(context, "mirror_interval", &input.mirror_interval)?;
    if !input.mirror {
        return Ok(None);
    }
    require_enabled(context)?;
    Ok(Some(Mirror { pull: true, interval_ms, ..Mirror::default() }))
}

/// Returns an error if mirrors are switched off.
pub(super) fn require_enabled(context: &Context) -> Result<(), Error> {
    if context.config.mirror.enabled {
        return Ok(());
    }
    Err(Error::Forbidden { reason: "mirrors are disabled; see mirror.enabled".into() })
}

/// Parses an interval. Empty: the default. 0: never.
pub(super) fn interval(context: &Context, field: &'static str, text: &str) -> Result<Millis, Error> {
    let config = &context.config.mirror;
    if text.is_empty() {
        return Ok(millis(config.default_interval));
    }
    let interval = go_duration::parse(text).ok_or_else(|| Error::invalid(field, "is not a duration such as 8h0m0s"))?;
    if !interval.is_zero() && interval < config.min_interval {
        let least = go_duration::format(config.min_interval);
        return Err(Error::invalid(field, format!("is shorter than {least}; 0s means never")));
    }
    Ok(millis(interval))
}

fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

/// Stores the source of a mirror with its credentials, encrypted, and the address of its LFS service if its objects are
/// copied. Does nothing unless `row` is a mirror.
pub(in crate::service) async fn store_source(
    context: &Context,
    row: &Repository,
    credentials: Option<(String, String)>,
    lfs_endpoint: Option<String>,
) -> Result<(), Error> {
    if !access::is_mirror(row) {
        return Ok(());
    }
    let (username, password) = credentials.unwrap_or_default();
    let remote = &MirrorRemote {
        address: row.original_url.clone(),
        username,
        password,
        lfs_endpoint: lfs_endpoint.unwrap_or_default(),
        ..MirrorRemote::default()
    };
    context
        .store
        .write(async |tx: Tx| {
            mirrors::put(&tx, row.id, None, remote);
            Ok(())
        })
        .await
}

/// Returns the new interval of a pull mirror that a change of its repository requests. Returns an error if it is not
/// valid, or if a mirror would be archived.
pub(in crate::service) fn edited_interval(
    context: &Context,
    row: &Repository,
    input: &EditRepository,
) -> Result<Option<Millis>, Error> {
    let Some(mirror) = row.mirror.as_ref().filter(|mirror| mirror.pull) else { return Ok(None) };
    if input.archived == Some(true) {
        return Err(Error::invalid("archived", "a mirror cannot be archived; convert it to a normal repository first"));
    }
    match input.mirror_interval.as_deref().filter(|text| !text.is_empty()) {
        Some(text) => {
            Ok(Some(interval(context, "mirror_interval", text)?).filter(|interval| *interval != mirror.interval_ms))
        }
        None => Ok(None),
    }
}

/// Requests a sync of the pull mirror `owner`/`name`. It runs in the background.
pub async fn request_sync(context: &Context, identity: &Identity, (owner, name): (&str, &str)) -> Result<(), Error> {
    let found = find(context, identity, (owner, name), Action::Write).await?;
    require_enabled(context)?;
    if !access::is_mirror(&found.repository) {
        return Err(Error::Body { reason: "the repository is not a mirror".into() });
    }
    if let Some(reason) = migrations::pending(&found.repository) {
        return Err(Error::Conflict { reason: reason.into() });
    }
    let (id, now) = (found.repository.id, context.now_ms());
    context
        .store
        .write(async |tx: Tx| {
            let Some(before) = rows::get(&tx, id).await?.filter(|row| !row.deleted) else { return Ok(()) };
            let mut row = before.clone();
            if let Some(mirror) = row.mirror.as_mut().filter(|mirror| mirror.pull) {
                mirror.next_ms = now;
                mirror.requests += 1;
                rows::put(&tx, Some(&before), &row);
            }
            Ok::<_, Error>(())
        })
        .await?;
    runs::wake(context);
    Ok(())
}

/// Converts a pull mirror to a normal repository. Its credentials are deleted, a running sync is cancelled.
pub async fn convert(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
) -> Result<FoundRepository, Error> {
    let found = find(context, identity, (owner, name), Action::Administer).await?;
    let (id, now) = (found.repository.id, context.now_ms());
    let recorder = &AuditRecorder::new(context);
    let owner_name = found.owner.name();
    let written = context.store.write(async |tx: Tx| {
        let before = rows::get(&tx, id).await?.filter(|row| !row.deleted);
        let before = before.ok_or(Error::NotFound { what: "the repository" })?;
        if !access::is_mirror(&before) {
            return Err(Error::Unusable { reason: "the repository is not a mirror".into() });
        }
        let push_on_commit = before.mirror.as_ref().map_or(0, |mirror| mirror.push_on_commit);
        let mirror = (push_on_commit > 0).then(|| Mirror { push_on_commit, ..Mirror::default() });
        let row = Repository { mirror, updated_ms: now, ..before.clone() };
        rows::put(&tx, Some(&before), &row);
        if let Some(source) = mirrors::remote(&tx, id, "").await? {
            mirrors::delete(&tx, id, &source);
        }
        let entry = Entry::new(audit::Action::MirrorConvert, Object::repository(&row, owner_name));
        recorder.record(&tx, entry.url("source", &before.original_url, "")).await?;
        Ok(row)
    });
    let repository = written.await?;
    context.mirrors.cancel(id, "");
    Ok(FoundRepository { repository, ..found })
}

/// Returns the repository, if the caller has an account and may do `action` with it.
pub(super) async fn find(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    action: Action,
) -> Result<FoundRepository, Error> {
    let snapshot = context.store.read().await?;
    repositories::find(&snapshot, identity, owner, name, action).await
}
