//! Finds the newest cache entry whose key begins with a prefix. Thousands of entries may have the same prefix. They are
//! not read for each lookup: the range counts of their ref and version have the newest entry of each bucket.

use farrier_proto::store::{CacheEntry, Reference};

use super::{get, keys, keys::CacheSlot};
use crate::store::{
    Read, Snapshot, StoreError,
    engine::{Range, Scan},
    range_counts::KeyFilter,
};

/// Number of entries with a prefix from which the range counts are used. Reading fewer entries is faster.
const MANY: usize = 64;
/// Index entries to read at a time.
const PAGE: usize = 1_000;

/// Returns the newest entry with content whose key begins with `slot.key`.
pub async fn newest_with_prefix(
    snapshot: &Snapshot,
    repository: u64,
    slot: CacheSlot<'_>,
) -> Result<Option<CacheEntry>, StoreError> {
    let range = keys::cache_keys(repository, slot);
    let first = ids_in(snapshot, &range, MANY).await?;
    let newest = if first.len() < MANY {
        first.into_iter().max()
    } else if !snapshot.counts_are_exact() {
        // Another daemon may just have added an entry.
        ids_in(snapshot, &range, usize::MAX).await?.into_iter().max()
    } else {
        Some(newest_in_group(snapshot, &keys::cache_group(repository, slot), &range).await?)
    };
    let Some(id) = newest else { return Ok(None) };
    let row = get(snapshot, id).await?.filter(|row| row.key.starts_with(slot.key));
    // Without the row, the entry is damaged or, with a long prefix, another entry of the range.
    if row.is_some() { Ok(row) } else { newest_by_rows(snapshot, &range, slot.key).await }
}

/// Returns the largest id in `range`, which is a part of `group`. Reads the entries of the buckets in which the range
/// begins and ends, and of those that were changed since they were counted.
async fn newest_in_group(snapshot: &Snapshot, group: &Range, range: &Range) -> Result<u64, StoreError> {
    let buckets = snapshot.range_counts(group, &KeyFilter::CacheKeys).await?;
    let (low, high) = (range.low.as_slice(), range.high.as_deref());
    let mut newest = 0;
    for (index, bucket) in buckets.iter().enumerate() {
        let first: &[u8] = &bucket.first;
        let end = buckets.get(index + 1).map(|next| &*next.first).or(group.high.as_deref());
        let (is_after, is_before) = (is_at_most(high, first), is_at_most(end, low));
        if is_after || is_before {
            continue;
        }
        let ends_inside = high.is_none_or(|high| is_at_most(end, high));
        newest = newest.max(if low <= first && ends_inside {
            bucket.total.newest_id
        } else {
            let part_end = if ends_inside { end } else { high };
            let part = Range { low: low.max(first).to_vec(), high: part_end.map(<[u8]>::to_vec) };
            ids_in(snapshot, &part, usize::MAX).await?.into_iter().max().unwrap_or(0)
        });
    }
    Ok(newest)
}

/// Returns whether the end of a range is at or before `key`. `None` is the end of the store.
fn is_at_most(end: Option<&[u8]>, key: &[u8]) -> bool {
    end.is_some_and(|end| end <= key)
}

/// Reads the rows of all entries in `range`, the newest first, until the key of one begins with `prefix`.
async fn newest_by_rows(snapshot: &Snapshot, range: &Range, prefix: &str) -> Result<Option<CacheEntry>, StoreError> {
    let mut ids = ids_in(snapshot, range, usize::MAX).await?;
    ids.sort_unstable();
    for id in ids.into_iter().rev() {
        if let Some(row) = get(snapshot, id).await?.filter(|row| row.key.starts_with(prefix)) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Returns the ids of the first `limit` entries in `range`.
async fn ids_in(snapshot: &Snapshot, range: &Range, limit: usize) -> Result<Vec<u64>, StoreError> {
    let (mut rest, mut ids) = (range.clone(), Vec::new());
    loop {
        let page_limit = PAGE.min(limit - ids.len());
        let page = snapshot.scan::<Reference>(&Scan::of(rest.clone(), page_limit)).await?;
        ids.extend(page.iter().map(|(_, reference)| reference.id));
        match page.last() {
            Some((last, _)) if page.len() == page_limit && ids.len() < limit => rest = rest.after(last),
            _ => return Ok(ids),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use farrier_proto::store::Content;

    use super::*;
    use crate::store::{Store, Tx, caches, engine::MemoryEngine};

    fn slot(key: &str) -> CacheSlot<'_> {
        CacheSlot { git_ref: "refs/heads/main", version: "v", key }
    }

    fn row(id: u64, key: &str) -> CacheEntry {
        let CacheSlot { git_ref, version, .. } = slot(key);
        CacheEntry {
            id,
            repository_id: 1,
            git_ref: git_ref.into(),
            version: version.into(),
            key: key.into(),
            content: Some(Content::default()),
            ..CacheEntry::default()
        }
    }

    async fn write(store: &Store, id: u64, key: &str, is_added: bool) {
        let write = async |tx: Tx| {
            if is_added {
                caches::put(&tx, None, &row(id, key));
            } else {
                caches::delete(&tx, &row(id, key), 0);
            }
            Ok::<_, StoreError>(())
        };
        store.write(write).await.expect("written");
    }

    async fn newest(store: &Store, prefix: &str) -> Option<u64> {
        let snapshot = store.read().await.expect("a snapshot");
        let found = newest_with_prefix(&snapshot, 1, slot(prefix)).await.expect("a lookup");
        found.map(|row| row.id)
    }

    #[tokio::test]
    async fn the_newest_of_many_entries_is_found_while_entries_are_added_and_deleted() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(8);
        let long = "x".repeat(430);
        let mut entries: BTreeMap<u64, String> = BTreeMap::new();
        // Each number has another place in the order of keys than in the order of ids.
        for step in 1..=600_u64 {
            let mixed = step * 7_919 % 1_009;
            let key = match mixed % 4 {
                0 => format!("{long}-{mixed}"),
                1 => format!("npm-linux-{mixed:04}"),
                _ => format!("npm-{mixed:04}"),
            };
            write(&store, step, &key, true).await;
            entries.insert(step, key);
            if step % 3 == 0 {
                let id = *entries.keys().rev().nth(usize::try_from(mixed % 5).expect("small")).expect("several");
                write(&store, id, &entries.remove(&id).expect("an entry"), false).await;
            }
            if step % 29 == 0 {
                let other = format!("{}y", &long[..420]);
                for prefix in ["npm-", "npm-linux-", "npm-0", "npm-05", "n", "npm-linux-0999", "go-", &long, &other] {
                    let expected = entries.iter().rev().find(|(_, key)| key.starts_with(prefix)).map(|(id, _)| *id);
                    assert_eq!(newest(&store, prefix).await, expected, "{prefix} after step {step}");
                }
            }
        }
    }

    #[tokio::test]
    async fn an_index_entry_without_a_row_does_not_hide_other_entries() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(8);
        for id in 1..=200 {
            write(&store, id, &format!("npm-{id:04}"), true).await;
        }
        let remove = async |tx: Tx| {
            tx.delete(keys::cache_entry(200));
            Ok::<_, StoreError>(())
        };
        store.write(remove).await.expect("written");
        assert_eq!(newest(&store, "npm-").await, Some(199));
    }
}
