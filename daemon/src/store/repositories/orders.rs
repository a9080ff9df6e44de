//! Adds the entries of sorted lists that the version which wrote a repository did not know.

use farrier_proto::store::Reference;

use super::{batch, listings};
use crate::store::{Read as _, Store, StoreError, Tx, engine::Key, keys, listings::Sort};

/// Rows that one transaction reads.
const BATCH: usize = 100;

/// Adds the missing entries of all repositories, unless they were added before. Returns the number of entries.
///
/// Can be interrupted at any time: the next call begins again, and entries that exist are not written.
pub async fn add_missing(store: &Store) -> Result<u64, StoreError> {
    let orders = Sort::ALL.len() as u64;
    let known = store.read().await?.get::<Reference>(&keys::repository_orders()).await?;
    if known.is_some_and(|known| known.id >= orders) {
        return Ok(0);
    }
    let (mut added, mut after) = (0, None::<Key>);
    loop {
        let from = after.as_deref();
        let (number, next) = store.write(async |tx: Tx| add_some(&tx, from).await).await?;
        added += number;
        match next {
            Some(_) => after = next,
            None => break,
        }
    }
    store
        .write(async |tx: Tx| {
            tx.put(keys::repository_orders(), &Reference { id: orders });
            Ok::<_, StoreError>(())
        })
        .await?;
    if added > 0 {
        tracing::info!(entries = added, "repositories were added to lists that an earlier version did not have");
    }
    Ok(added)
}

/// Adds the missing entries of the next repositories. Returns their number and the key after which to continue.
async fn add_some(tx: &Tx, after: Option<&[u8]>) -> Result<(u64, Option<Key>), StoreError> {
    let (rows, next) = batch(tx, after, BATCH).await?;
    let mut added = 0;
    for row in &rows {
        let entries = listings(row);
        let keys: Vec<Key> = entries.keys().cloned().collect();
        let stored = tx.get_many_bytes(&keys).await?;
        for ((key, listing), _) in entries.into_iter().zip(stored).filter(|(_, stored)| stored.is_none()) {
            tx.put(key, &listing);
            added += 1;
        }
    }
    Ok((added, next))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{Repository, Visibility};

    use super::*;
    use crate::store::{
        engine::{MemoryEngine, Range},
        listings::{self, ListingQuery, RepositoryList},
        repositories,
    };

    #[tokio::test]
    async fn repositories_of_earlier_versions_get_the_entries_of_new_orders_once() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let most = BATCH as u64 * 2 + 7;
        let fill = async |tx: Tx| {
            for id in 1..=most {
                let row =
                    Repository { id, owner_id: 1, name: format!("r{id}"), stars: id % 10, ..Repository::default() };
                assert!(repositories::insert(&tx, &row).await?);
                let deleted = Repository { deleted: true, deleted_ms: 0, ..row.clone() };
                if id % 50 == 0 {
                    repositories::put(&tx, Some(&row), &deleted);
                }
                // What a version without these orders has not written.
                for sort in [Sort::Stars, Sort::Forks] {
                    tx.delete(keys::listing(0, sort, &row));
                    tx.delete(keys::listing(1, sort, &row));
                }
            }
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        let live = most - most / 50;
        assert_eq!(add_missing(&store).await.expect("added"), live * 4);
        assert_eq!(add_missing(&store).await.expect("complete"), 0);
        let read = store.read().await.expect("a snapshot");
        assert_eq!(read.count(&Range::prefix(keys::tag("rl")), u64::MAX).await.expect("a count"), live * 12);
        let lists = vec![RepositoryList { scope: 0, class: Visibility::Public }];
        let query = ListingQuery { sort: Sort::Stars, reverse: true, lists, ..ListingQuery::default() };
        let (ids, total) = listings::page(&read, &query, 0, 2).await.expect("a page");
        assert_eq!((ids, total), (vec![199, 189], live));
    }
}
