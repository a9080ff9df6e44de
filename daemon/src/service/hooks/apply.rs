//! Copying a default hook into repositories that were there before it: so many in one call, in
//! transactions of bounded size. A call that was cut off is repeated, and copies nothing twice.

use farrier_proto::store::{Hook, HookScope, Repository};

use super::{MISSING, copies::copy};
use crate::{
    app::App,
    service::Error,
    store::{Tx, hooks, ids::IdKind, repositories},
};

/// Repositories that one call looks at.
const PER_CALL: usize = 1_000;
/// Repositories that one transaction changes.
const PER_TRANSACTION: usize = 50;

/// What a call has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Repositories that have a copy now.
    pub copied: u64,
    /// Repositories that had one, or have no room for one.
    pub skipped: u64,
    /// The last repository that was looked at; `None`: there are no more behind it.
    pub next: Option<u64>,
}

/// Copies the default hook with number `id` into repositories behind `after` that have no copy.
pub async fn apply(app: &App, id: u64, after: u64) -> Result<Applied, Error> {
    let snapshot = app.store.read().await?;
    default_hook(hooks::get(&snapshot, id).await?)?;
    let rows = repositories::after_id(&snapshot, after, PER_CALL).await?;
    drop(snapshot);
    let mut applied = Applied::default();
    for rows in rows.chunks(PER_TRANSACTION) {
        let mut numbers = Vec::with_capacity(rows.len());
        for _ in rows {
            numbers.push(app.store.next_id(IdKind::Hook).await?);
        }
        let (numbers, now) = (&numbers, app.now_ms());
        let copied = app
            .store
            .write(async |tx: Tx| {
                let default = default_hook(hooks::get(&tx, id).await?)?;
                let mut copied = 0;
                for (row, number) in rows.iter().zip(numbers) {
                    if wants(&tx, row, id).await? {
                        hooks::insert(&tx, &copy(&default, *number, row.id, now));
                        copied += 1;
                    }
                }
                Ok::<_, Error>(copied)
            })
            .await?;
        applied.copied += copied;
        applied.skipped += rows.len() as u64 - copied;
    }
    applied.next = rows.last().filter(|_| rows.len() == PER_CALL).map(|row| row.id);
    Ok(applied)
}

fn default_hook(row: Option<Hook>) -> Result<Hook, Error> {
    let row = row.filter(|row| matches!(row.scope(), HookScope::Default | HookScope::System)).ok_or(MISSING)?;
    if row.scope() == HookScope::Default {
        return Ok(row);
    }
    Err(Error::Unusable { reason: "only default hooks are copied; a system hook hears of all repositories".into() })
}

/// Whether the repository is still there, has no copy yet and has room for one.
async fn wants(tx: &Tx, row: &Repository, default: u64) -> Result<bool, Error> {
    let there = repositories::get(tx, row.id).await?.is_some_and(|row| !row.deleted);
    let own = hooks::of(tx, HookScope::Repository, row.id).await?;
    Ok(there && own.len() < hooks::PER_SCOPE_MAX && own.iter().all(|hook| hook.copied_from != default))
}
