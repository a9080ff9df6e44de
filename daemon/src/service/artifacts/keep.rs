//! How long an artifact is kept, changed after it was made.

use super::{MISSING, across, rows, visible};
use crate::{
    app::App,
    clock::Millis,
    model::{
        expiry::{self, NoEnd},
        identity::Identity,
    },
    service::{Error, access::Action},
    store::Tx,
};

/// A new end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// At a time.
    At(Millis),
    /// So many days from now.
    Days(i64),
}

/// Gives the artifact `id` another end. One whose time is over stays so: its bytes are gone, or go
/// any moment.
pub async fn keep(app: &App, identity: &Identity, id: u64, until: Until) -> Result<across::Entry, Error> {
    let snapshot = app.store.read().await?;
    let (mut entry, _) = across::get(&snapshot, identity, id, Action::WriteActions).await?;
    drop(snapshot);
    let now = app.now_ms();
    let expires_ms = end(now, until, app.config.artifacts.max_retention_days)?;
    let repository = entry.row.repository_id;
    entry.row = app
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
            Ok(row)
        })
        .await?;
    app.sweep.due_at(expires_ms);
    Ok(entry)
}

fn end(now: Millis, until: Until, max_days: u32) -> Result<Millis, Error> {
    let (field, end) = match until {
        Until::At(end) => ("expires_at", end),
        Until::Days(days) => ("days", expiry::in_days(now, days)),
    };
    expiry::choose(now, end, max_days).map_err(|error: NoEnd| Error::invalid(field, error.to_string()))
}
