//! Deletes the cache entries that were not used for the longest time when a limit is exceeded.

use farrier_proto::store::CacheEntry;

use super::{access, upload_bytes::delete_stalled};
use crate::{
    service::{Context, Error, artifacts, disk_space::DiskSpace},
    store::{Tx, caches, totals},
};

/// Entries to look at per step.
const BATCH: usize = 500;

/// Applies the limits of the repository and of all entries after the entry `written` was finalized.
pub(super) async fn enforce_limits(context: &Context, repository: u64, written: u64) -> Result<(), Error> {
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
    loop {
        let excess = excess_bytes(context, repository, limit).await?;
        if excess == 0 || delete_oldest(context, repository, excess, keep).await?.is_none() {
            return Ok(());
        }
    }
}

/// Deletes stalled uploads and the bytes that no row needs any more. Call it before entries are deleted because of low
/// disk space.
pub(in crate::service) async fn free_unneeded(context: &Context) -> Result<(), Error> {
    let _evicting = context.caches.evicting.lock().await;
    delete_unneeded(context).await
}

async fn delete_unneeded(context: &Context) -> Result<(), Error> {
    delete_stalled(context, None).await?;
    while artifacts::collect(context).await? {}
    Ok(())
}

/// Returns whether the deletion of all entries would free `bytes`.
pub(in crate::service) async fn can_free(context: &Context, bytes: u64) -> Result<bool, Error> {
    Ok(bytes <= totals::exact_cache_entries(&context.store.read().await?, None).await?.size_bytes)
}

/// Deletes entries of all repositories, least recently used first, until there is space for the granted bytes of
/// uploads. Returns whether that was possible. If all entries together have too few bytes, none is deleted. `granted`:
/// see [`DiskSpace::missing`].
///
/// As in [`shrink`], this deletes entries that a job may have saved a moment ago. It runs only when bytes of an upload
/// have arrived that would otherwise be refused because of `artifacts.reserve_bytes`. Space is measured after the lock
/// is taken, because another upload may have made enough.
pub(in crate::service) async fn free_space(context: &Context, granted: u64) -> Result<bool, Error> {
    let _evicting = context.caches.evicting.lock().await;
    delete_unneeded(context).await?;
    let mut left = DiskSpace::missing(context, granted).await?;
    // While a backup reads the files, the bytes of deleted entries stay: each upload would delete more of them in vain.
    if left > 0 && (context.git.removals().is_held() || !can_free(context, left).await?) {
        return Ok(false);
    }
    while left > 0 {
        let Some(freed) = delete_oldest(context, None, left, 0).await? else { return Ok(false) };
        left = left.saturating_sub(freed);
    }
    // The upload that needs the space waits for it.
    while artifacts::collect(context).await? {}
    Ok(DiskSpace::missing(context, granted).await? == 0)
}

/// Returns by how many bytes the entries exceed `limit`.
async fn excess_bytes(context: &Context, repository: Option<u64>, limit: u64) -> Result<u64, Error> {
    let total = totals::exact_cache_entries(&context.store.read().await?, repository).await?;
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

/// Deletes the least recently used entries of `repository`, or of all repositories, with `bytes` bytes or more. Returns
/// how many bytes the deleted entries have, or `None` if there is no entry to delete.
async fn delete_oldest(
    context: &Context,
    repository: Option<u64>,
    bytes: u64,
    keep: u64,
) -> Result<Option<u64>, Error> {
    access::flush(context).await?;
    let accesses = &context.caches.accesses;
    let mut oldest = caches::least_recent(&context.store.read().await?, repository, BATCH).await?;
    oldest.retain(|row| !accesses.has_unwritten(row.id));
    let chosen = &choose(oldest, bytes, keep);
    if chosen.is_empty() {
        return Ok(None);
    }
    let now = context.now_ms();
    let freed = context
        .store
        .write(async |tx: Tx| {
            let mut freed = 0;
            for entry in chosen {
                let row = caches::get(&tx, entry.id).await?.filter(|row| row.accessed_ms == entry.accessed_ms);
                // An entry that was used since it was chosen stays.
                if let Some(row) = row.filter(|row| !accesses.has_unwritten(row.id)) {
                    caches::delete(&tx, &row, now);
                    freed += row.content.as_ref().map_or(0, |content| content.size);
                }
            }
            Ok::<_, Error>(freed)
        })
        .await?;
    tracing::debug!(entries = chosen.len(), bytes = freed, "evicted cache entries");
    context.sweep.due_at(now);
    Ok(Some(freed))
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
