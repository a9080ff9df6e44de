//! Lists of cache entries with content, in several orders.

use farrier_proto::store::CacheEntry;

use super::{ids, keys};
use crate::store::{
    Read, StoreError,
    engine::{Key, Range, Scan},
};

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOrder {
    /// By last use.
    LastAccess,
    /// By creation.
    Created,
    /// By size.
    Size,
}

/// Returns `limit` entries of `repository` after the first `skip`. `descending`: the largest value comes first.
pub async fn page(
    read: &impl Read,
    repository: u64,
    order: CacheOrder,
    descending: bool,
    skip: u64,
    limit: usize,
) -> Result<Vec<CacheEntry>, StoreError> {
    let prefix = match order {
        CacheOrder::LastAccess => keys::cache_accesses(repository),
        CacheOrder::Created => keys::cache_creations(repository),
        CacheOrder::Size => keys::cache_sizes(repository),
    };
    rows(read, Scan { range: Range::prefix(prefix), reverse: descending, skip, limit }).await
}

/// Returns the entries with content of `repository` with larger ids than `id`, in the order of ids, at most `limit`.
pub async fn created_after(
    read: &impl Read,
    repository: u64,
    id: u64,
    limit: usize,
) -> Result<Vec<CacheEntry>, StoreError> {
    let range = Range::prefix(keys::cache_creations(repository)).after(&keys::cache_creation(repository, id));
    rows(read, Scan::of(range, limit)).await
}

/// The position of an entry in a list by last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePosition {
    /// When it was last used.
    pub ms: i64,
    /// Its id.
    pub id: u64,
}

/// Returns the next entries of `repository`, or of all repositories, after the position `after`, most recently used
/// first, at most `limit`.
pub async fn most_recent(
    read: &impl Read,
    repository: Option<u64>,
    after: Option<CachePosition>,
    limit: usize,
) -> Result<Vec<CacheEntry>, StoreError> {
    let prefix = repository.map_or_else(|| keys::tag("cx"), keys::cache_accesses);
    let all = Range::prefix(prefix);
    let high = after.map(|CachePosition { ms, id }| match repository {
        Some(repository) => keys::cache_access(repository, ms, id),
        None => keys::cache_age(ms, id),
    });
    let range = Range { low: all.low, high: high.or(all.high) };
    rows(read, Scan { reverse: true, ..Scan::of(range, limit) }).await
}

/// Returns the entries with content of `repository`, or of all repositories, that were not used for the longest time,
/// at most `limit`.
pub async fn least_recent(
    read: &impl Read,
    repository: Option<u64>,
    limit: usize,
) -> Result<Vec<CacheEntry>, StoreError> {
    let prefix = repository.map_or_else(|| keys::tag("cx"), keys::cache_accesses);
    rows(read, Scan::of(Range::prefix(prefix), limit)).await
}

async fn rows(read: &impl Read, scan: Scan) -> Result<Vec<CacheEntry>, StoreError> {
    let rows: Vec<Key> = ids(read, scan).await?.into_iter().map(keys::cache_entry).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}
