//! Copies a default hook into existing repositories: a limited number per call, in transactions of bounded size. A call
//! that was interrupted can be repeated and copies nothing twice.

use farrier_proto::store::{Hook, HookScope, Repository};

use super::{MISSING, copies::copy};
use crate::{
    service::{
        Context, Error,
        audit::{Action, AuditRecorder, Entry, Object},
    },
    store::{Tx, hooks, ids::IdKind, repositories},
};

/// Repositories to check per call.
const PER_CALL: usize = 1_000;
/// Repositories to change per transaction.
const PER_TRANSACTION: usize = 50;

/// The result of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyResult {
    /// Repositories that received a copy.
    pub copied: u64,
    /// Repositories that had a copy already or cannot have more hooks.
    pub skipped: u64,
    /// Id of the last repository of this call; `None`: no repositories are left.
    pub next: Option<u64>,
}

/// Copies the default hook `id` into repositories with ids above `after` that have no copy.
pub async fn apply(context: &Context, id: u64, after: u64) -> Result<ApplyResult, Error> {
    let snapshot = context.store.read().await?;
    default_hook(hooks::get(&snapshot, id).await?)?;
    let rows = repositories::after_id(&snapshot, after, PER_CALL).await?;
    drop(snapshot);
    let mut applied = ApplyResult::default();
    for rows in rows.chunks(PER_TRANSACTION) {
        let mut ids = Vec::with_capacity(rows.len());
        for _ in rows {
            ids.push(context.store.next_id(IdKind::Hook).await?);
        }
        let (ids, now) = (&ids, context.now_ms());
        let recorder = &AuditRecorder::new(context);
        let copied = context
            .store
            .write(async |tx: Tx| {
                let default = default_hook(hooks::get(&tx, id).await?)?;
                let mut copied: u64 = 0;
                for (row, number) in rows.iter().zip(ids) {
                    if needs_copy(&tx, row, id).await? {
                        hooks::insert(&tx, &copy(&default, *number, row.id, now));
                        copied += 1;
                    }
                }
                if copied > 0 {
                    let entry = Entry::new(Action::HookApply, Object::hook(&tx, &default).await?);
                    recorder.record(&tx, entry.set("copies", copied)).await?;
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
    Err(Error::Unusable {
        reason: "only default hooks can be copied; a system hook already receives the events of all repositories"
            .into(),
    })
}

/// Returns whether the repository exists, has no copy yet and can have another hook.
async fn needs_copy(tx: &Tx, row: &Repository, default: u64) -> Result<bool, Error> {
    let exists = repositories::get(tx, row.id).await?.is_some_and(|row| !row.deleted);
    let own = hooks::of(tx, HookScope::Repository, row.id).await?;
    Ok(exists && own.len() < hooks::PER_SCOPE_MAX && own.iter().all(|hook| hook.copied_from != default))
}
