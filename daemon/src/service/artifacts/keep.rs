//! Changes how long an existing artifact is kept.

use super::{MISSING, across, rows, visible};
use crate::{
    clock::Millis,
    model::{
        expiry::{self, ExpiryError},
        identity::Identity,
    },
    service::{
        Context, Error,
        access::Action,
        audit::{self, AuditRecorder, Entry, Object},
    },
    show,
    store::Tx,
};

/// A new expiry time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewExpiry {
    /// An absolute time.
    At(Millis),
    /// This many days from now.
    Days(i64),
}

/// Sets the expiry time of artifact `id`. An expired artifact cannot be extended, since its bytes are gone or about to
/// be removed.
pub async fn keep(
    context: &Context,
    identity: &Identity,
    id: u64,
    until: NewExpiry,
) -> Result<across::FoundArtifact, Error> {
    let snapshot = context.store.read().await?;
    let (mut entry, _) = across::get(&snapshot, identity, id, Action::WriteActions).await?;
    drop(snapshot);
    let now = context.now_ms();
    let expires_ms = end(now, until, context.config.artifacts.max_retention_days)?;
    let repository = entry.row.repository_id;
    let recorder = &AuditRecorder::new(context);
    entry.row = context
        .store
        .write(async |tx: Tx| {
            let before = rows::get(&tx, id).await?;
            let before = before.filter(|row| row.repository_id == repository && row.deleted_ms == 0).ok_or(MISSING)?;
            if visible(&before, now).is_none() {
                return Err(Error::Conflict { reason: "the artifact has expired".into() });
            }
            let mut row = before.clone();
            (row.expires_ms, row.updated_ms) = (expires_ms, now);
            rows::put(&tx, Some(&before), &row);
            let changed = Entry::new(audit::Action::ArtifactEdit, Object::artifact(&tx, &row).await?);
            let (from, to) = (show::time(before.expires_ms), show::time(row.expires_ms));
            let changed = changed.field("expires_at", from, to);
            if !changed.is_unchanged() {
                recorder.record(&tx, changed).await?;
            }
            Ok(row)
        })
        .await?;
    context.sweep.due_at(expires_ms);
    Ok(entry)
}

fn end(now: Millis, until: NewExpiry, max_days: u32) -> Result<Millis, Error> {
    let (field, end) = match until {
        NewExpiry::At(end) => ("expires_at", end),
        NewExpiry::Days(days) => ("days", expiry::in_days(now, days)),
    };
    expiry::choose(now, end, max_days).map_err(|error: ExpiryError| Error::invalid(field, error.to_string()))
}
