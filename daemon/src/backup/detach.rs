//! Makes the rows of a backup usable for one daemon that has only files. Only this module decides which rows a backup
//! has in another form than the store.
//!
//! The store of a backup comes from PostgreSQL, or its blobs from a bucket. A restored daemon has redb, one data
//! directory and neither of them. So these rows are different:
//!
//! - `n/…`, `l/…`: deleted. They are the nodes and leases of the lost daemons. Work that these had begun counts as
//!   interrupted.
//! - `tk/…`: deleted. Several nodes follow these tasks; one daemon has them in memory.
//! - `m/removal-hold`: deleted. It is the hold of the backup itself.
//! - `m/packs`, `gd/…`: deleted. No pack is in a bucket. With `m/packs`, a daemon without `blobs.url` does not start.
//! - `g/<rid>/p/…`: without `object` and `inline`. The backup has the files of every pack of the manifest.
//! - `g/<rid>/x/…`: the same. The backup does not need the files of dropped packs. The restored daemon removes the rows
//!   when they are due.
//! - `g/<rid>/b/…`: deleted. The backup has these packs as files.
//!
//! All other rows are the same in every engine. Sequences cover the IDs that a shared store has given, and `m/order` is
//! raised at each start.

use farrier_proto::store::{DroppedPack, StoredPack};

use crate::store::{
    Read as _, Store, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
    packs::bucket,
    repositories,
};

/// Rows to read or change at a time.
const PAGE: usize = 500;
/// Rows of files of packs to delete at a time. They are large.
const FILES_PAGE: usize = 50;

/// Changes the rows of `copy`, the store of a backup, after everything else was read from it.
pub(super) async fn detach(copy: &Store) -> Result<(), StoreError> {
    for prefix in [keys::nodes(), keys::leases(), keys::tasks(), keys::unused_pack_objects()] {
        delete_all(copy, prefix, PAGE).await?;
    }
    copy.write(async |tx: Tx| {
        tx.delete(keys::removal_hold());
        bucket::forget_place(&tx);
        Ok::<_, StoreError>(())
    })
    .await?;
    let mut after = None;
    loop {
        let (page, next) = repositories::batch(&copy.read().await?, after.as_deref(), PAGE).await?;
        for row in page {
            change_all(copy, keys::stored_packs(row.id), local).await?;
            change_all(copy, keys::dropped_packs(row.id), local_dropped).await?;
            delete_all(copy, keys::inline_packs(row.id), FILES_PAGE).await?;
        }
        after = next;
        if after.is_none() {
            return Ok(());
        }
    }
}

fn local(row: &StoredPack) -> StoredPack {
    StoredPack { object: String::new(), inline: false, ..row.clone() }
}

fn local_dropped(row: &DroppedPack) -> DroppedPack {
    DroppedPack { pack: row.pack.as_ref().map(local), ..row.clone() }
}

/// Deletes all rows whose keys begin with `prefix`.
async fn delete_all(copy: &Store, prefix: Key, limit: usize) -> Result<(), StoreError> {
    let scan = Scan::of(Range::prefix(prefix), limit);
    loop {
        let found = &copy.read().await?.scan_bytes(&scan).await?;
        let delete = async |tx: Tx| {
            for (key, _) in found {
                tx.delete(key.clone());
            }
            Ok::<_, StoreError>(())
        };
        if !found.is_empty() {
            copy.write(delete).await?;
        }
        if found.len() < limit {
            return Ok(());
        }
    }
}

/// Changes all rows whose keys begin with `prefix`.
async fn change_all<T: prost::Message + Default + PartialEq>(
    copy: &Store,
    prefix: Key,
    change: fn(&T) -> T,
) -> Result<(), StoreError> {
    let mut range = Range::prefix(prefix);
    loop {
        let found = copy.read().await?.scan::<T>(&Scan::of(range.clone(), PAGE)).await?;
        let is_last = found.len() < PAGE;
        if let Some((last, _)) = found.last() {
            range = range.after(last);
        }
        let changed = found.into_iter().map(|(key, row)| (key, change(&row), row));
        let changed: Vec<_> = changed.filter(|(_, new, old)| new != old).map(|(key, new, _)| (key, new)).collect();
        if !changed.is_empty() {
            let rows = &changed;
            copy.write(async |tx: Tx| {
                for (key, row) in rows {
                    tx.put(key.clone(), row);
                }
                Ok::<_, StoreError>(())
            })
            .await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use farrier_proto::store::{
        InlinePack, LastBackup, Lease, Node, OwnerKind, Reference, RemovalHold, Repository, Task, UnusedPackObject,
    };

    use super::*;
    use crate::store::engine::MemoryEngine;

    const ID: u64 = 7;

    async fn keys_of(store: &Store) -> BTreeSet<Key> {
        let all = Scan::of(Range::prefix(Key::new()), 1_000);
        let pairs = store.read().await.expect("a snapshot").scan_bytes(&all).await.expect("rows");
        pairs.into_iter().map(|(key, _)| key).collect()
    }

    #[tokio::test]
    async fn rows_of_nodes_and_of_a_bucket_are_deleted_and_packs_become_files() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let repository = Repository {
            id: ID,
            name: "demo".into(),
            owner_kind: OwnerKind::User.into(),
            owner_id: 1,
            ..Repository::default()
        };
        let in_bucket = StoredPack { bytes: 9, object: "0af1".into(), ..StoredPack::default() };
        let inline = StoredPack { bytes: 8, inline: true, ..StoredPack::default() };
        let dropped = |pack: &StoredPack| DroppedPack { due_ms: 5, pack: Some(pack.clone()) };
        let kept = async |tx: Tx| {
            repositories::insert(&tx, &repository).await?;
            tx.put(keys::last_backup(), &LastBackup::default());
            tx.put(keys::stored_pack(ID, "pack-1"), &in_bucket);
            tx.put(keys::stored_pack(ID, "pack-2"), &inline);
            tx.put(keys::dropped_pack(ID, "pack-3"), &dropped(&in_bucket));
            tx.put(keys::dropped_pack(ID, "pack-4"), &dropped(&inline));
            tx.put(keys::dropped_pack_due(5, ID, "pack-3"), &Reference { id: ID });
            Ok::<_, StoreError>(())
        };
        store.write(kept).await.expect("rows");
        let expected = keys_of(&store).await;
        let others = async |tx: Tx| {
            tx.put(keys::node(1), &Node::default());
            tx.put(keys::lease("sweep"), &Lease::default());
            tx.put(keys::task(3), &Task::default());
            tx.put(keys::removal_hold(), &RemovalHold::default());
            bucket::set_place(&tx, true);
            tx.put(keys::unused_pack_object(ID, "0af2"), &UnusedPackObject::default());
            tx.put(keys::inline_pack(ID, "pack-2"), &InlinePack::default());
            tx.put(keys::inline_pack(ID, "pack-4"), &InlinePack::default());
            Ok::<_, StoreError>(())
        };
        store.write(others).await.expect("rows");
        detach(&store).await.expect("detached");
        assert_eq!(keys_of(&store).await, expected);
        let read = store.read().await.expect("a snapshot");
        let bytes = |pack: &StoredPack| StoredPack { bytes: pack.bytes, ..StoredPack::default() };
        for (name, pack) in [("pack-1", &in_bucket), ("pack-2", &inline)] {
            let row = read.get::<StoredPack>(&keys::stored_pack(ID, name)).await.expect("a row");
            assert_eq!(row, Some(bytes(pack)), "{name}");
        }
        for (name, pack) in [("pack-3", &in_bucket), ("pack-4", &inline)] {
            let row = read.get::<DroppedPack>(&keys::dropped_pack(ID, name)).await.expect("a row");
            assert_eq!(row, Some(dropped(&bytes(pack))), "{name}");
        }
    }
}
