//! Background maintenance of caches: deletes entries that were not used for `caches.retention_days` and reservations
//! whose upload was abandoned. `artifacts::sweep` removes their bytes.

use farrier_proto::store::CacheEntry;

use super::{
    access,
    reserve::{abandoned_ms, check_interval_ms, is_job_running},
    upload_key,
};
use crate::{
    clock::Millis,
    service::{Context, Error},
    store::{Tx, caches},
};

/// Entries to handle per pass.
const BATCH: usize = 100;
const DAY_MS: Millis = 86_400_000;

/// Handles a bounded number of due entries. Returns whether more may be due.
pub async fn sweep(context: &Context) -> Result<bool, Error> {
    let now = context.now_ms();
    let mut more = delete_unused(context, now).await?;
    more |= check_reservations(context, now).await?;
    Ok(more)
}

/// Returns when the next entry is due.
pub async fn next_due_ms(context: &Context) -> Result<Option<Millis>, Error> {
    let snapshot = context.store.read().await?;
    let check = caches::first_check_ms(&snapshot).await?;
    let unused = match retention_ms(context) {
        Some(retention) => caches::first_access_ms(&snapshot).await?.map(|used| used.saturating_add(retention)),
        None => None,
    };
    Ok(check.into_iter().chain(unused).min())
}

/// Returns how long an unused entry is kept. `None`: it is never deleted for lack of use.
fn retention_ms(context: &Context) -> Option<Millis> {
    let days = context.config.caches.retention_days;
    (days != 0).then(|| Millis::from(days) * DAY_MS)
}

/// Deletes entries that no job used during the retention. The transaction reads each row again, so an entry that was
/// used meanwhile stays.
async fn delete_unused(context: &Context, now: Millis) -> Result<bool, Error> {
    let Some(retention) = retention_ms(context) else { return Ok(false) };
    let until = now.saturating_sub(retention);
    if caches::unused_since(&context.store.read().await?, until, 1).await?.is_empty() {
        return Ok(false);
    }
    access::flush(context).await?;
    let due = &caches::unused_since(&context.store.read().await?, until, BATCH).await?;
    context
        .store
        .write(async |tx: Tx| {
            for id in due {
                let row = caches::get(&tx, *id).await?;
                let is_unused = |row: &CacheEntry| row.content.is_some() && row.accessed_ms <= until;
                if let Some(row) = row.filter(|row| is_unused(row) && !context.caches.accesses.has_unwritten(row.id)) {
                    caches::delete(&tx, &row, now);
                }
            }
            Ok::<_, Error>(())
        })
        .await?;
    Ok(due.len() == BATCH)
}

/// Deletes reservations whose job has ended or that had no progress for `artifacts.abandoned_secs`, with the bytes of
/// their uploads. They were never finalized, so no client relies on them. The others are checked again later.
async fn check_reservations(context: &Context, now: Millis) -> Result<bool, Error> {
    let due = &caches::checks_due(&context.store.read().await?, now, BATCH).await?;
    let (abandoned_ms, check_ms) = (abandoned_ms(context), now.saturating_add(check_interval_ms(context)));
    context
        .store
        .write(async |tx: Tx| {
            for id in due {
                let row = caches::get(&tx, *id).await?;
                let Some(row) = row.filter(|row| row.content.is_none() && row.check_ms <= now) else { continue };
                // A block that is being received changes the row only when it is complete.
                let is_abandoned = row.progress_ms.saturating_add(abandoned_ms) <= now
                    && !context.receiving.contains(upload_key(&row));
                if is_abandoned || !is_job_running(&tx, &row).await? {
                    caches::delete(&tx, &row, now);
                } else {
                    caches::put(&tx, Some(&row), &CacheEntry { check_ms, ..row.clone() });
                }
            }
            Ok::<_, Error>(())
        })
        .await?;
    Ok(due.len() == BATCH)
}
