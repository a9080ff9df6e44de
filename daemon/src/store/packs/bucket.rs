//! Which packs are in the bucket, and which objects of packs the bucket does not need any more.
//!
//! A row of a pack names its objects in the bucket, also when the pack was dropped from the manifest. When the row is
//! deleted or names other objects, the same transaction writes a row for the old ones (`note_unused`), so that they
//! can be removed later.

use farrier_proto::store::{DroppedPack, PacksInBucket, StoredPack, UnusedPackObject};

use super::{Packs, all};
use crate::store::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys, refs,
};

/// Objects of a pack that no row of a pack names any more.
#[derive(Debug)]
pub struct UnusedObject {
    /// The key of the row.
    key: Key,
    /// The repository that had the pack.
    pub repository: u64,
    /// The random name of the objects.
    pub object: String,
    /// The row.
    pub row: UnusedPackObject,
}

/// Returns what is known about packs in a bucket; `None`: there are none.
pub async fn place(read: &impl Read) -> Result<Option<PacksInBucket>, StoreError> {
    read.get(&keys::packs_in_bucket()).await
}

/// Records that packs are in a bucket. `complete`: those of all repositories.
pub fn set_place(tx: &Tx, complete: bool) {
    tx.put(keys::packs_in_bucket(), &PacksInBucket { complete });
}

/// Records that no pack is in a bucket.
pub fn forget_place(tx: &Tx) {
    tx.delete(keys::packs_in_bucket());
}

/// Records that a repository may have packs that are only on this disk.
pub async fn note_incomplete(tx: &Tx) -> Result<(), StoreError> {
    if place(tx).await?.is_some_and(|place| place.complete) {
        set_place(tx, false);
    }
    Ok(())
}

/// Returns whether the manifest of a repository names packs that are all in the bucket or in the store, so that its
/// directory can be created from them.
pub async fn has_all(read: &impl Read, repository: u64) -> Result<bool, StoreError> {
    let version = refs::version(read, repository).await?;
    if !version.is_some_and(|version| !version.from_disk && version.has_manifest) {
        return Ok(false);
    }
    Ok(are_all(&all(read, repository).await?))
}

/// Returns whether all these packs are in the bucket or in the store.
pub fn are_all(packs: &Packs) -> bool {
    !packs.values().any(is_only_local)
}

/// Returns whether a pack is only in the directory of its repository.
pub fn is_only_local(pack: &StoredPack) -> bool {
    pack.object.is_empty() && !pack.inline
}

/// Records the objects of packs that were stored in the bucket. Leaves out packs whose row was changed meanwhile, and
/// returns whether there are any.
pub async fn note_stored(tx: &Tx, repository: u64, stored: &Packs) -> Result<bool, StoreError> {
    let rows = all(tx, repository).await?;
    let mut changed = false;
    for (name, pack) in stored {
        let before = StoredPack { object: String::new(), ..pack.clone() };
        if rows.get(name) == Some(&before) {
            tx.put(keys::stored_pack(repository, name), pack);
        } else {
            changed = true;
        }
    }
    Ok(changed)
}

/// Makes the rows of these packs name no objects.
pub fn clear_objects(tx: &Tx, repository: u64, packs: &Packs) {
    for (name, pack) in packs {
        tx.put(keys::stored_pack(repository, name), &StoredPack { object: String::new(), ..pack.clone() });
    }
}

/// Returns whether a row names these objects.
pub async fn is_named(read: &impl Read, repository: u64, name: &str, object: &str) -> Result<bool, StoreError> {
    let row: Option<StoredPack> = read.get(&keys::stored_pack(repository, name)).await?;
    let dropped: Option<DroppedPack> = read.get(&keys::dropped_pack(repository, name)).await?;
    if row.into_iter().chain(dropped.and_then(|dropped| dropped.pack)).any(|row| row.object == object) {
        return Ok(true);
    }
    Ok(read.get::<UnusedPackObject>(&keys::unused_pack_object(repository, object)).await?.is_some())
}

/// Notes that no row of a pack names the objects of this one any more.
pub(in crate::store) fn note_unused(tx: &Tx, repository: u64, name: &str, pack: &StoredPack) {
    if !pack.object.is_empty() {
        let row = UnusedPackObject { name: name.to_owned(), found_ms: 0 };
        tx.put(keys::unused_pack_object(repository, &pack.object), &row);
    }
}

/// Returns at most `limit` unused objects after `after`.
pub async fn unused(
    read: &impl Read,
    after: Option<&UnusedObject>,
    limit: usize,
) -> Result<Vec<UnusedObject>, StoreError> {
    let range = Range::prefix(keys::unused_pack_objects());
    let range = after.map_or(range.clone(), |after| range.after(&after.key));
    let rows = read.scan::<UnusedPackObject>(&Scan::of(range, limit)).await?;
    let parsed = rows.into_iter().filter_map(|(key, row)| {
        let (repository, object) = keys::unused_pack_object_parts(&key)?;
        let object = object.to_owned();
        Some(UnusedObject { key, repository, object, row })
    });
    Ok(parsed.collect())
}

/// Returns the number of packs whose objects are unused, at most `cap`.
pub async fn count_unused(read: &impl Read, cap: u64) -> Result<u64, StoreError> {
    read.count(&Range::prefix(keys::unused_pack_objects()), cap).await
}

/// Records when a row was first found.
pub fn note_found(tx: &Tx, unused: &UnusedObject, now_ms: i64) {
    tx.put(unused.key.clone(), &UnusedPackObject { found_ms: now_ms, ..unused.row.clone() });
}

/// Removes the row of objects that were removed.
pub fn forget(tx: &Tx, unused: &UnusedObject) {
    tx.delete(unused.key.clone());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{super::replace, *};
    use crate::store::{Store, engine::MemoryEngine};

    const REPOSITORY: u64 = 7;

    fn packs(list: &[(&str, &str)]) -> Packs {
        let pack = |object: &str| StoredPack { bytes: 1, object: object.to_owned(), ..StoredPack::default() };
        list.iter().map(|(name, object)| ((*name).to_owned(), pack(object))).collect()
    }

    async fn write(store: &Store, packs: &Packs) {
        store.write(async |tx: Tx| replace(&tx, REPOSITORY, &packs.clone().into()).await).await.expect("written");
    }

    #[tokio::test]
    async fn objects_are_noted_when_their_pack_is_dropped_replaced_or_removed_with_its_repository() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let create = async |tx: Tx| {
            refs::create(&tx, REPOSITORY, false, true, &[]);
            Ok::<_, StoreError>(())
        };
        store.write(create).await.expect("rows");
        let objects = async || {
            let found = unused(&store.read().await.expect("a snapshot"), None, 10).await.expect("rows");
            found.into_iter().map(|unused| (unused.repository, unused.row.name, unused.object)).collect::<Vec<_>>()
        };
        let noted = |name: &str, object: &str| (REPOSITORY, name.to_owned(), object.to_owned());
        write(&store, &packs(&[("pack-1", "a"), ("pack-2", "b"), ("pack-3", "")])).await;
        write(&store, &packs(&[("pack-1", "a"), ("pack-2", "c")])).await;
        assert_eq!(objects().await, [noted("pack-2", "b")], "the pack without objects leaves none");
        let read = store.read().await.expect("a snapshot");
        for (name, object, expected) in
            [("pack-1", "a", true), ("pack-2", "b", true), ("pack-2", "c", true), ("pack-1", "c", false)]
        {
            assert_eq!(is_named(&read, REPOSITORY, name, object).await.expect("rows"), expected, "{name} {object}");
        }
        drop(read);
        while !store.write(async |tx: Tx| refs::forget_some(&tx, REPOSITORY, 1).await).await.expect("written") {}
        assert_eq!(objects().await, [noted("pack-1", "a"), noted("pack-2", "b"), noted("pack-2", "c")]);
        let read = store.read().await.expect("a snapshot");
        assert_eq!(count_unused(&read, 9).await.expect("a count"), 3);
    }

    #[tokio::test]
    async fn stored_objects_are_recorded_only_in_rows_that_did_not_change() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let create = async |tx: Tx| {
            refs::create(&tx, REPOSITORY, false, true, &[]);
            Ok::<_, StoreError>(())
        };
        store.write(create).await.expect("rows");
        let has_all = async || has_all(&store.read().await.expect("a snapshot"), REPOSITORY).await.expect("rows");
        assert!(!has_all().await, "it has no manifest");
        write(&store, &packs(&[("pack-1", ""), ("pack-2", "")])).await;
        assert!(!has_all().await);
        let stored = packs(&[("pack-1", "a"), ("pack-3", "b")]);
        let changed = store.write(async |tx: Tx| note_stored(&tx, REPOSITORY, &stored).await).await.expect("written");
        assert!(changed, "the pack 3 has no row");
        assert!(!has_all().await);
        let stored = packs(&[("pack-2", "c")]);
        assert!(!store.write(async |tx: Tx| note_stored(&tx, REPOSITORY, &stored).await).await.expect("written"));
        assert!(has_all().await);
    }
}
