//! Reads the audit log, and removes entries whose retention is over.

use farrier_proto::store::AuditEntry;

use crate::{
    clock::Millis,
    model::identity::Identity,
    service::{Context, Error, access},
    store::{
        Tx,
        audit::{self, AuditFilter, AuditPage, AuditQuery},
    },
};

const DAY_MS: Millis = 86_400_000;
/// Most entries that one step of the sweep removes.
const SWEEP_MAX: usize = 1_000;
/// Entries whose retention is over are removed together, at most once in this time.
const SWEEP_EVERY_MS: Millis = 3_600 * 1_000;

const MISSING: Error = Error::NotFound { what: "the audit entry" };

/// Returns a page of the audit log, newest first. Requires a site administrator.
pub async fn list(context: &Context, identity: &Identity, query: AuditQuery) -> Result<AuditPage, Error> {
    access::require_site_admin(identity)?;
    page(context, query).await
}

/// Returns the number of entries that pass `filter`. Requires a site administrator.
pub async fn total(context: &Context, identity: &Identity, filter: &AuditFilter) -> Result<u64, Error> {
    access::require_site_admin(identity)?;
    Ok(audit::count(&context.store.read().await?, filter).await?)
}

/// Returns a page of the entries whose actor is the caller, newest first.
pub async fn list_own(context: &Context, identity: &Identity, mut query: AuditQuery) -> Result<AuditPage, Error> {
    let account = access::require_account(identity)?;
    access::require_whole_account(identity)?;
    query.user = Some(account.user.id);
    page(context, query).await
}

/// Returns a page. With `after`, it ends before the first entry that is not settled, so that a client that asks for the
/// entries after the last one it has seen misses none.
async fn page(context: &Context, mut query: AuditQuery) -> Result<AuditPage, Error> {
    let snapshot = context.store.read().await?;
    if query.after.is_some() && query.before == 0 {
        query.before = audit::unsettled(&snapshot).await?;
    }
    Ok(audit::page(&snapshot, &query).await?)
}

/// Returns entry `id`. Requires a site administrator.
pub async fn get(context: &Context, identity: &Identity, id: u64) -> Result<AuditEntry, Error> {
    access::require_site_admin(identity)?;
    audit::get(&context.store.read().await?, id).await?.ok_or(MISSING)
}

/// Removes a bounded number of entries. Returns whether there may be more.
///
/// Deletes only entries that are older than `audit.retention_days` by their own time, oldest first, and stops at the
/// first entry that is not. Entries after it may be a little older, see [`audit::DISORDER_MS`]; a later step removes
/// them.
pub async fn sweep(context: &Context) -> Result<bool, Error> {
    let until_ms = context.now_ms().saturating_sub(keep_ms(context));
    let rows = audit::after(&context.store.read().await?, 0, SWEEP_MAX).await?;
    let old = &rows.into_iter().take_while(|row| row.at_ms <= until_ms).collect::<Vec<_>>();
    if old.is_empty() {
        return Ok(false);
    }
    context
        .store
        .write(async |tx: Tx| {
            audit::delete(&tx, old);
            Ok::<_, Error>(())
        })
        .await?;
    Ok(old.len() == SWEEP_MAX)
}

/// Returns when the retention of the next entry ends.
pub async fn next_due_ms(context: &Context) -> Result<Option<Millis>, Error> {
    let first = audit::after(&context.store.read().await?, 0, 1).await?;
    Ok(first.first().map(|row| due_ms(context, row.at_ms)))
}

/// Schedules the sweep for the end of the retention of an entry that is recorded now.
pub(super) fn remember(context: &Context, now: Millis) {
    context.sweep.due_at(due_ms(context, now));
}

fn due_ms(context: &Context, at_ms: Millis) -> Millis {
    at_ms.saturating_add(keep_ms(context)).saturating_add(SWEEP_EVERY_MS)
}

fn keep_ms(context: &Context) -> Millis {
    Millis::from(context.config.audit.retention_days).saturating_mul(DAY_MS)
}
