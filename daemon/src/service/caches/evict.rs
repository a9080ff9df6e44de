//! Deletes the cache entries that were not used for the longest time when a limit is exceeded.

use farrier_proto::store::CacheEntry;

use super::access;
use crate::{
    service::{Context, Error, artifacts},
    store::{Tx, caches, totals},
};

/// Entries to look at per step.
const BATCH: usize = 500;

/// Applies the limits of the repository and of all entries after the entry `written` was finalized.
pub(super) async fn make_room(context: &Context, repository: u64, written: u64) -> Result<(), Error> {
    let limits = &context.config.caches;
    for (of, limit) in [(Some(repository), limits.quota_bytes), (None, limits.total_bytes)] {
        if limit != 0 {
            shrink(context, of, limit, written).await?;
        }
    }
    Ok(())
}

/// Deletes entries of `repository`, or of all repositories, until they have at most `limit` bytes. Never deletes the
/// entry `keep`.
///
/// This deletes data whose upload was acknowledged, because a job can create it again. Only entries in the index of
/// uses are candidates, each transaction reads their rows again, and an entry that was used since it was chosen
/// stays.
async fn shrink(context: &Context, repository: Option<u64>, limit: u64, keep: u64) -> Result<(), Error> {
    let excess = excess_bytes(context, repository, limit).await?;
    if excess == 0 {
        return Ok(());
    }
    let _evicting = context.caches.evicting.lock().await;
    access::flush(context).await?;
    loop {
        let excess = excess_bytes(context, repository, limit).await?;
        if excess == 0 {
            return Ok(());
        }
        let oldest = caches::least_recent(&context.store.read().await?, repository, BATCH).await?;
        let chosen = choose(oldest, excess, keep);
        if chosen.is_empty() {
            return Ok(());
        }
        delete_unused(context, &chosen).await?;
    }
}

/// Deletes entries of all repositories, least recently used first, until `bytes` more are free on the disk. Returns
/// whether that was possible. If all entries together have fewer bytes, none is deleted.
///
/// As in [`shrink`], this deletes entries that a job may have saved a moment ago. It runs only when an upload would
/// otherwise be refused because of `artifacts.reserve_bytes`.
pub(in crate::service) async fn free_space(context: &Context, bytes: u64) -> Result<bool, Error> {
    let _evicting = context.caches.evicting.lock().await;
    let total = totals::cache_entries(&context.store.read().await?, None).await?.size_bytes;
    if bytes == 0 || total < bytes {
        return Ok(false);
    }
    access::flush(context).await?;
    let mut left = bytes;
    while left > 0 {
        let oldest = caches::least_recent(&context.store.read().await?, None, BATCH).await?;
        let chosen = choose(oldest, left, 0);
        if chosen.is_empty() {
            return Ok(false);
        }
        delete_unused(context, &chosen).await?;
        left = left.saturating_sub(chosen.iter().filter_map(|row| row.content.as_ref()).map(|c| c.size).sum());
    }
    // The upload that needs the space waits for it.
    while artifacts::collect(context).await? {}
    Ok(true)
}

/// Returns by how many bytes the entries exceed `limit`.
async fn excess_bytes(context: &Context, repository: Option<u64>, limit: u64) -> Result<u64, Error> {
    let total = totals::cache_entries(&context.store.read().await?, repository).await?;
    Ok(total.size_bytes.saturating_sub(limit))
}

/// Returns the first of `oldest` that together have at least `excess` bytes, without the entry `keep`.
fn choose(oldest: Vec<CacheEntry>, excess: u64, keep: u64) -> Vec<CacheEntry> {
    let mut left = excess;
    let mut chosen = Vec::new();
    for row in oldest.into_iter().filter(|row| row.id != keep) {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(row.content.as_ref().map_or(0, |content| content.size));
        chosen.push(row);
    }
    chosen
}

/// Deletes the entries of `chosen` that were not used since they were read.
async fn delete_unused(context: &Context, chosen: &[CacheEntry]) -> Result<(), Error> {
    let now = context.now_ms();
    context
        .store
        .write(async |tx: Tx| {
            for entry in chosen {
                let row = caches::get(&tx, entry.id).await?;
                if let Some(row) = row.filter(|row| row.accessed_ms == entry.accessed_ms) {
                    caches::delete(&tx, &row, now);
                }
            }
            Ok::<_, Error>(())
        })
        .await?;
    tracing::debug!(entries = chosen.len(), "evicted cache entries");
    context.sweep.due_at(now);
    Ok(())
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::Content;

    use super::*;

    #[test]
    fn the_oldest_entries_are_chosen_until_the_excess_is_covered_but_never_the_written_one() {
        let row = |id, size| CacheEntry {
            id,
            content: Some(Content { size, ..Content::default() }),
            ..CacheEntry::default()
        };
        let ids = |excess, keep| {
            let oldest = vec![row(3, 10), row(1, 10), row(2, 10)];
            choose(oldest, excess, keep).iter().map(|row| row.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(10, 9), [3]);
        assert_eq!(ids(11, 9), [3, 1]);
        assert_eq!(ids(11, 1), [3, 2]);
        assert_eq!(ids(100, 2), [3, 1]);
    }
}
