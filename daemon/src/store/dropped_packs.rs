//! Packs that were dropped from the manifest of a repository, because others have their objects or because their
//! objects were pruned. Git processes that began before may still read the files, so these are removed later.
//!
//! A dropped pack never becomes part of the manifest again by itself: its row `g/<rid>/x/<name>` exists until its files
//! are removed.

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{DroppedPack, Reference, StoredPack};

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys,
    packs::{self, Packs},
};
use crate::clock::Millis;

/// Dropped packs by name.
pub type DroppedPacks = BTreeMap<String, DroppedPack>;

/// Returns the dropped packs of a repository whose files may exist.
pub async fn all(read: &impl Read, repository: u64) -> Result<DroppedPacks, StoreError> {
    packs::by_name(read, keys::dropped_packs(repository), keys::dropped_pack_name).await
}

/// Returns at most `limit` dropped packs, with their repository and name, in the order of the times at which their
/// files may be removed.
pub async fn first_due(read: &impl Read, limit: usize) -> Result<Vec<(Millis, u64, String)>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(Range::prefix(keys::dropped_packs_by_time()), limit)).await?;
    let due = pairs.iter().filter_map(|(key, _)| {
        let (repository, name) = keys::dropped_pack_of_due(key)?;
        Some((keys::leading_time(key)?, repository, name.to_owned()))
    });
    Ok(due.collect())
}

/// Moves packs from the manifest of a repository to its dropped packs. Their files may be removed at `due_ms`.
pub fn drop_all(tx: &Tx, repository: u64, packs: &Packs, due_ms: Millis) {
    for (name, pack) in packs {
        tx.delete(keys::stored_pack(repository, name));
        let row = DroppedPack { due_ms, pack: Some(pack.clone()) };
        tx.put(keys::dropped_pack(repository, name), &row);
        tx.put(keys::dropped_pack_due(due_ms, repository, name), &Reference { id: repository });
    }
}

/// Makes dropped packs, whose files must be complete, part of the manifest again.
pub async fn take_back(tx: &Tx, repository: u64, names: &BTreeSet<String>) -> Result<(), StoreError> {
    let dropped = all(tx, repository).await?;
    let mut packs = Packs::new();
    for (name, row) in dropped.into_iter().filter(|(name, _)| names.contains(name)) {
        delete(tx, repository, &name, &row);
        packs.extend(row.pack.map(|pack: StoredPack| (name, pack)));
    }
    packs::put_rows(tx, repository, &packs);
    Ok(())
}

/// Deletes the rows of dropped packs whose files were removed.
pub async fn forget(tx: &Tx, repository: u64, names: &[String]) -> Result<(), StoreError> {
    for name in names {
        if let Some(row) = tx.get::<DroppedPack>(&keys::dropped_pack(repository, name)).await? {
            forget_row(tx, repository, name, &row);
        }
    }
    Ok(())
}

/// Deletes the row of a dropped pack. Its objects in the bucket, or the row of its files, are not used any more.
pub(super) fn forget_row(tx: &Tx, repository: u64, name: &str, row: &DroppedPack) {
    delete(tx, repository, name, row);
    if let Some(pack) = &row.pack {
        packs::release(tx, repository, name, pack);
    }
}

/// Deletes the row of a dropped pack, and its place in the order of times.
fn delete(tx: &Tx, repository: u64, name: &str, row: &DroppedPack) {
    tx.delete(keys::dropped_pack(repository, name));
    tx.delete(keys::dropped_pack_due(row.due_ms, repository, name));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{Store, engine::MemoryEngine, packs::bucket, refs};

    const REPOSITORY: u64 = 7;

    fn packs(names: &[&str]) -> Packs {
        names.iter().map(|name| ((*name).to_owned(), StoredPack { bytes: 9, ..StoredPack::default() })).collect()
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[tokio::test]
    async fn dropped_packs_are_listed_by_time_and_return_to_the_manifest_or_are_forgotten() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let create = async |tx: Tx| {
            refs::create(&tx, REPOSITORY, false, true, &[]);
            packs::replace(&tx, REPOSITORY, &packs(&["pack-1", "pack-2", "pack-3"]).into()).await?;
            Ok::<_, StoreError>(())
        };
        store.write(create).await.expect("rows");
        let drop = async |tx: Tx| {
            drop_all(&tx, REPOSITORY, &packs(&["pack-1"]), 60);
            drop_all(&tx, REPOSITORY, &packs(&["pack-2"]), 50);
            Ok::<_, StoreError>(())
        };
        store.write(drop).await.expect("rows");
        let state = async || {
            let read = store.read().await.expect("a snapshot");
            let manifest: BTreeSet<String> = packs::all(&read, REPOSITORY).await.expect("rows").into_keys().collect();
            let dropped: BTreeSet<String> = all(&read, REPOSITORY).await.expect("rows").into_keys().collect();
            let due = first_due(&read, 9).await.expect("rows");
            (manifest, dropped, due.into_iter().map(|(at, _, name)| (at, name)).collect::<Vec<_>>())
        };
        let (first, second) = ((60, "pack-1".to_owned()), (50, "pack-2".to_owned()));
        assert_eq!(state().await, (set(&["pack-3"]), set(&["pack-1", "pack-2"]), vec![second.clone(), first.clone()]));
        store.write(async |tx: Tx| take_back(&tx, REPOSITORY, &set(&["pack-1", "pack-9"])).await).await.expect("rows");
        assert_eq!(state().await, (set(&["pack-1", "pack-3"]), set(&["pack-2"]), vec![second]));
        let names = ["pack-2".to_owned(), "pack-3".to_owned()];
        store.write(async |tx: Tx| forget(&tx, REPOSITORY, &names).await).await.expect("rows");
        assert_eq!(state().await, (set(&["pack-1", "pack-3"]), set(&[]), vec![]), "rows of the manifest stay");
        store
            .write(async |tx: Tx| {
                drop_all(&tx, REPOSITORY, &packs(&["pack-1"]), 70);
                refs::forget_some(&tx, REPOSITORY, 100).await
            })
            .await
            .expect("rows");
        assert_eq!(state().await, (set(&[]), set(&[]), vec![]), "a deleted repository leaves nothing");
    }

    #[tokio::test]
    async fn a_dropped_pack_keeps_its_objects_in_the_bucket_until_its_files_are_removed() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let pack = StoredPack { bytes: 9, object: "0af1".into(), ..StoredPack::default() };
        let rows = Packs::from([("pack-1".to_owned(), pack)]);
        let create = async |tx: Tx| {
            refs::create(&tx, REPOSITORY, false, true, &[]);
            packs::replace(&tx, REPOSITORY, &rows.clone().into()).await?;
            drop_all(&tx, REPOSITORY, &rows, 60);
            Ok::<_, StoreError>(())
        };
        store.write(create).await.expect("rows");
        let unused = async || {
            let read = store.read().await.expect("a snapshot");
            assert!(bucket::is_named(&read, REPOSITORY, "pack-1", "0af1").await.expect("rows"));
            bucket::unused(&read, None, 9).await.expect("rows").len()
        };
        assert_eq!(unused().await, 0);
        store.write(async |tx: Tx| take_back(&tx, REPOSITORY, &set(&["pack-1"])).await).await.expect("rows");
        assert_eq!(unused().await, 0, "the manifest names them again");
        let drop_again = async |tx: Tx| {
            drop_all(&tx, REPOSITORY, &rows, 60);
            Ok::<_, StoreError>(())
        };
        store.write(drop_again).await.expect("rows");
        store.write(async |tx: Tx| forget(&tx, REPOSITORY, &["pack-1".to_owned()]).await).await.expect("rows");
        assert_eq!(unused().await, 1);
    }
}
