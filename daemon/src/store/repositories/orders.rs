//! Adds the entries of sorted lists that the version which wrote a repository did not know.

use farrier_proto::store::Reference;

use super::{batch, listings};
use crate::store::{Read, Store, StoreError, Tx, engine::Key, keys, listings::Sort, raise_format};

/// Rows that one transaction reads. Each transaction is made durable, so with few rows the start takes long.
const BATCH: usize = 500;
/// The number of orders in versions that did not record it.
const FIRST_ORDERS: u64 = 4;

/// Returns the number of orders in which all repositories are listed.
pub async fn known(read: &impl Read) -> Result<u64, StoreError> {
    let recorded = read.get::<Reference>(&keys::repository_orders()).await?;
    Ok(recorded.map_or(FIRST_ORDERS, |recorded| recorded.id))
}

/// Returns whether `key` belongs to a list in an order after the first `known` ones. [`add_missing`] adds such entries
/// to rows of earlier versions.
pub fn is_added_later(key: &[u8], known: u64) -> bool {
    keys::order_of_listing(key).is_some_and(|order| u64::from(order) > known)
}

/// Adds the missing entries of all repositories, unless they were added before. Returns the number of entries.
///
/// Can be interrupted at any time: the next call begins again, and entries that exist are not written.
pub async fn add_missing(store: &Store) -> Result<u64, StoreError> {
    let orders = Sort::ALL.len() as u64;
    let known = known(&store.read().await?).await?;
    if known >= orders {
        return Ok(0);
    }
    // Earlier versions would change repositories without their entries in the new orders, so that a deleted or private
    // repository stays in these lists.
    store.write(async |tx: Tx| raise_format(&tx).await).await?;
    let (mut added, mut after) = (0, None::<Key>);
    loop {
        let from = after.as_deref();
        let (number, next) = store.write(async |tx: Tx| add_some(&tx, from, known).await).await?;
        if added == 0 && number > 0 {
            tracing::info!("adding repositories to lists that an earlier version did not have, before the start");
        }
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

/// Adds the missing entries of the next repositories, in the orders after the first `known` ones. Returns their number
/// and the key after which to continue.
async fn add_some(tx: &Tx, after: Option<&[u8]>, known: u64) -> Result<(u64, Option<Key>), StoreError> {
    let (rows, next) = batch(tx, after, BATCH).await?;
    let entries: Vec<_> = rows.iter().flat_map(listings).filter(|(key, _)| is_added_later(key, known)).collect();
    let keys: Vec<Key> = entries.iter().map(|(key, _)| key.clone()).collect();
    let stored = tx.get_many_bytes(&keys).await?;
    let mut added = 0;
    for ((key, listing), _) in entries.into_iter().zip(stored).filter(|(_, stored)| stored.is_none()) {
        tx.put(key, &listing);
        added += 1;
    }
    Ok((added, next))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{Format, Repository, Visibility};

    use super::*;
    use crate::store::{
        engine::{MemoryEngine, Range},
        listings::{self, ListingQuery, RepositoryList},
        repositories, value,
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
        let read = store.read().await.expect("a snapshot");
        let later = known(&read).await.expect("a number");
        assert!(is_added_later(&keys::listing(1, Sort::Stars, &Repository::default()), later));
        assert!(!is_added_later(&keys::listing(1, Sort::Size, &Repository::default()), later));
        assert!(!is_added_later(&keys::repository_orders(), later));
        drop(read);
        let old_format = async |tx: Tx| {
            tx.put(keys::format(), &Format { level: 2 });
            Ok::<_, StoreError>(())
        };
        store.write(old_format).await.expect("a row");
        // The first step of a start that was killed.
        let (first, next) = store.write(async |tx: Tx| add_some(&tx, None, later).await).await.expect("added");
        assert!(next.is_some() && first > 0 && first < live * 4, "{first}");
        assert_eq!(add_missing(&store).await.expect("added"), live * 4 - first);
        assert_eq!(add_missing(&store).await.expect("complete"), 0);
        let read = store.read().await.expect("a snapshot");
        assert_eq!(known(&read).await.expect("a number"), 6);
        let format = read.get::<Format>(&keys::format()).await.expect("a read");
        assert_eq!(format, Some(Format { level: value::CONVERTED_LEVEL }), "earlier versions refuse the store");
        assert_eq!(read.count(&Range::prefix(keys::tag("rl")), u64::MAX).await.expect("a count"), live * 12);
        let lists = vec![RepositoryList { scope: 0, class: Visibility::Public }];
        let query = ListingQuery { sort: Sort::Stars, reverse: true, lists, ..ListingQuery::default() };
        let (ids, total) = listings::page(&read, &query, 0, 2).await.expect("a page");
        assert_eq!((ids, total), (vec![999, 989], live));
    }
}
