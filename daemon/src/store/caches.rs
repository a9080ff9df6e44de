//! Stores cache entries with their indexes. The blocks of their uploads are in the tables of `artifacts`.
//!
//! There is one entry for each (repository, ref, version, key), either reserved or with content. The services keep it
//! that way: they reserve a key in the transaction that finds it free.

mod list;
mod newest;
mod reservations;

use farrier_proto::store::{CacheEntry, Reference};

use super::{
    Read, StoreError, Tx, artifacts,
    engine::{Key, Range, Scan},
    first_time, keys,
};

pub use self::{
    list::{CacheOrder, CachePosition, created_after, least_recent, most_recent, page},
    newest::newest_with_prefix,
    reservations::{reservations, reserved_bytes},
};
pub use keys::CacheSlot;

/// Returns the entry with id `id`, reserved or with content.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<CacheEntry>, StoreError> {
    read.get(&keys::cache_entry(id)).await
}

/// Returns the entry with content that has exactly this key.
pub async fn ready(read: &impl Read, repository: u64, slot: CacheSlot<'_>) -> Result<Option<CacheEntry>, StoreError> {
    by_index(read, &keys::cache_key(repository, slot)).await
}

/// Returns the reserved entry that has exactly this key.
pub async fn reserved(
    read: &impl Read,
    repository: u64,
    slot: CacheSlot<'_>,
) -> Result<Option<CacheEntry>, StoreError> {
    by_index(read, &keys::cache_reservation(repository, slot)).await
}

async fn by_index(read: &impl Read, key: &[u8]) -> Result<Option<CacheEntry>, StoreError> {
    match read.get::<Reference>(key).await? {
        Some(found) => get(read, found.id).await,
        None => Ok(None),
    }
}

/// Writes `row` and updates the index entries that change. `before` is the stored row with the same id, if there is
/// one.
pub fn put(tx: &Tx, before: Option<&CacheEntry>, row: &CacheEntry) {
    let (stored, needed) = (before.map(index_keys).unwrap_or_default(), index_keys(row));
    for key in stored.iter().filter(|key| !needed.contains(key)) {
        tx.delete(key.clone());
    }
    for key in needed.into_iter().filter(|key| !stored.contains(key)) {
        tx.put(key, &Reference { id: row.id });
    }
    tx.put(keys::cache_entry(row.id), row);
}

/// Deletes `row` and its index entries and marks its bytes for removal.
pub fn delete(tx: &Tx, row: &CacheEntry, now_ms: i64) {
    for key in index_keys(row) {
        tx.delete(key);
    }
    tx.delete(keys::cache_entry(row.id));
    for generation in live_generations(row) {
        artifacts::discard(tx, row.id, generation, now_ms);
    }
}

/// Returns what identifies `row` within its repository.
pub fn slot(row: &CacheEntry) -> CacheSlot<'_> {
    CacheSlot { git_ref: &row.git_ref, version: &row.version, key: &row.key }
}

/// Returns the keys of all index entries that `row` needs in its state.
pub(super) fn index_keys(row: &CacheEntry) -> Vec<Key> {
    let (repository, id) = (row.repository_id, row.id);
    match &row.content {
        Some(content) => vec![
            keys::cache_key(repository, slot(row)),
            keys::cache_access(repository, row.accessed_ms, id),
            keys::cache_creation(repository, id),
            keys::cache_size(repository, content.size, id),
            keys::cache_age(row.accessed_ms, id),
        ],
        None => vec![keys::cache_reservation(repository, slot(row)), keys::cache_check(row.check_ms, id)],
    }
}

/// Returns the generations whose bytes `row` needs.
pub fn live_generations(row: &CacheEntry) -> impl Iterator<Item = u64> {
    let content = row.content.as_ref().map(|content| content.generation);
    content.into_iter().chain(row.upload.as_ref().map(|upload| upload.generation))
}

/// Returns the ids of reserved entries whose check is due at or before `until_ms`, at most `limit`.
pub async fn checks_due(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
    ids(read, Scan::of(keys::cache_checks(until_ms), limit)).await
}

/// Returns the time of the next check of a reserved entry.
pub async fn first_check_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::cache_checks(i64::MAX)).await
}

/// Returns the ids of entries with content and of reserved entries of `repository`, at most `limit` of each.
pub async fn of_repository(read: &impl Read, repository: u64, limit: usize) -> Result<Vec<u64>, StoreError> {
    let mut found = ids(read, Scan::of(Range::prefix(keys::cache_creations(repository)), limit)).await?;
    let reserved = Scan::of(Range::prefix(keys::cache_reservations(repository)), limit);
    found.extend(read.scan::<Reference>(&reserved).await?.iter().map(|(_, reference)| reference.id));
    Ok(found)
}

/// Returns the ids of entries with content that were not used since `until_ms`, at most `limit`.
pub async fn unused_since(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
    ids(read, Scan::of(keys::cache_ages(until_ms), limit)).await
}

/// Returns the earliest last access of all entries with content.
pub async fn first_access_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::cache_ages(i64::MAX)).await
}

/// Returns the first repository after `after` that has entries with content.
pub async fn next_repository(read: &impl Read, after: Option<u64>) -> Result<Option<u64>, StoreError> {
    let all = Range::prefix(keys::tag("cz"));
    let low = after.and_then(|id| Range::prefix(keys::cache_sizes(id)).high).unwrap_or(all.low);
    let first = read.scan_bytes(&Scan::of(Range { low, high: all.high }, 1)).await?.pop();
    Ok(first.and_then(|(key, _)| keys::first_id(&key)))
}

async fn ids(read: &impl Read, scan: Scan) -> Result<Vec<u64>, StoreError> {
    let pairs = read.scan_bytes(&scan).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// Returns the next entries by id, and the key after which the next batch starts. Unreadable rows are left out.
pub async fn batch(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<CacheEntry>, Option<Key>), StoreError> {
    read.readable(Range::prefix(keys::tag("ce")), after, limit).await
}
