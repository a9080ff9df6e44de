//! LFS objects and locks.
//!
//! An object has one row with the place of its bytes (`lo`), and one row for each repository that has it (`lr`). Only
//! the second kind gives a repository the right to the bytes. The bytes of an object are stored like those of an
//! artifact with its id and [`GENERATION`].

pub mod locks;
pub mod unreferenced;

use std::collections::BTreeMap;

use farrier_proto::store::{LfsEntry, LfsObject, LfsPlace, Reference, Repository};

use super::{
    Read, StoreError, Tx, artifacts,
    engine::{Key, Range, Scan},
    first_time, keys,
    releases::assets,
    repositories,
};

/// The SHA-256 of an object.
pub type Oid = [u8; 32];

/// The generation of the bytes of every object.
pub const GENERATION: u64 = assets::GENERATION;

/// Returns the object `oid`, whichever repository has it.
pub async fn object(read: &impl Read, oid: &Oid) -> Result<Option<LfsObject>, StoreError> {
    read.get(&keys::lfs_object(oid)).await
}

/// Returns the entry of `oid` in a repository.
pub async fn entry(read: &impl Read, repository: u64, oid: &Oid) -> Result<Option<LfsEntry>, StoreError> {
    read.get(&keys::lfs_entry(repository, oid)).await
}

/// Writes the row of an object and its index entries. `before`: the stored row, if there is one.
pub fn put_object(tx: &Tx, oid: &Oid, before: Option<&LfsObject>, row: &LfsObject) {
    for key in before.map(|before| index_keys(oid, before)).unwrap_or_default() {
        tx.delete(key);
    }
    for key in index_keys(oid, row) {
        tx.put(key, &LfsPlace { oid: oid.to_vec() });
    }
    tx.put(keys::lfs_object(oid), row);
}

/// Replaces the place of an object whose bytes were lost.
pub fn replace_object(tx: &Tx, oid: &Oid, before: &LfsObject, row: &LfsObject, now_ms: i64) {
    put_object(tx, oid, Some(before), row);
    artifacts::discard(tx, before.id, GENERATION, now_ms);
}

/// Returns the keys of the index entries of an object.
pub(super) fn index_keys(oid: &Oid, row: &LfsObject) -> Vec<Key> {
    let unreferenced = (row.unreferenced_ms != 0).then(|| keys::lfs_unreferenced(row.unreferenced_ms, oid));
    [keys::lfs_object_by_id(row.id)].into_iter().chain(unreferenced).collect()
}

/// Adds an object to a repository that does not have it, and its size to the row of the repository.
pub fn add_entry(tx: &Tx, repository: &Repository, oid: &Oid, object: &LfsObject, row: &LfsEntry) {
    if object.unreferenced_ms != 0 {
        put_object(tx, oid, Some(object), &LfsObject { unreferenced_ms: 0, ..*object });
    }
    tx.put(keys::lfs_holder(oid, repository.id), &Reference { id: repository.id });
    tx.put(keys::lfs_entry(repository.id, oid), row);
    let lfs_size = repository.lfs_size.saturating_add(row.size);
    repositories::put(tx, Some(repository), &Repository { lfs_size, ..repository.clone() });
}

/// Adds the objects of the repository `from` to the repository `to`, without its row. Returns the size of those that it
/// did not have.
///
/// Clears the time since when no file names an object, as for an upload: files that name it may follow, and it must not
/// be removed before.
pub async fn copy_entries(tx: &Tx, from: u64, to: u64) -> Result<u64, StoreError> {
    let known = tx.scan::<LfsEntry>(&Scan::of(Range::prefix(keys::lfs_entries(to)), usize::MAX)).await?;
    let known: BTreeMap<Oid, LfsEntry> =
        known.into_iter().filter_map(|(key, row)| Some((keys::trailing_oid(&key)?, row))).collect();
    let mut added = 0_u64;
    for (key, row) in tx.scan::<LfsEntry>(&Scan::of(Range::prefix(keys::lfs_entries(from)), usize::MAX)).await? {
        let Some(oid) = keys::trailing_oid(&key) else { continue };
        match known.get(&oid) {
            Some(own) if own.unreferenced_ms == 0 => {}
            Some(own) => tx.put(keys::lfs_entry(to, &oid), &LfsEntry { unreferenced_ms: 0, ..*own }),
            None => {
                tx.put(keys::lfs_holder(&oid, to), &Reference { id: to });
                tx.put(keys::lfs_entry(to, &oid), &LfsEntry { unreferenced_ms: 0, ..row });
                added = added.saturating_add(row.size);
            }
        }
    }
    Ok(added)
}

/// Counts the objects of a repository, up to `cap`.
pub async fn count_of(read: &impl Read, repository: u64, cap: u64) -> Result<u64, StoreError> {
    read.count(&Range::prefix(keys::lfs_entries(repository)), cap).await
}

/// Returns the total size of the objects of all repositories of an owner, except deleted ones.
pub async fn size_of_owner(read: &impl Read, owner: u64) -> Result<u64, StoreError> {
    Ok(repositories::newest(read, Some(owner), usize::MAX).await?.iter().map(|row| row.lfs_size).sum())
}

/// Deletes at most `limit` objects and locks of a repository that is removed permanently. Returns whether none are
/// left. An object that no other repository has becomes unreferenced.
pub async fn delete_some(tx: &Tx, repository: u64, limit: usize, now_ms: i64) -> Result<bool, StoreError> {
    let entries = Range::prefix(keys::lfs_entries(repository));
    let entries = tx.scan_bytes(&Scan::of(entries, limit)).await?;
    for (key, _) in &entries {
        tx.delete(key.clone());
        if let Some(oid) = keys::trailing_oid(key) {
            release(tx, repository, &oid, now_ms).await?;
        }
    }
    Ok(entries.is_empty() && locks::delete_some(tx, repository, limit).await?)
}

/// Deletes the index entry of an object that a repository has no longer. An object that no other repository has becomes
/// unreferenced.
async fn release(tx: &Tx, repository: u64, oid: &Oid, now_ms: i64) -> Result<(), StoreError> {
    tx.delete(keys::lfs_holder(oid, repository));
    let is_held = !holders(tx, oid).await?.is_empty();
    if let Some(before) = object(tx, oid).await?.filter(|_| !is_held) {
        put_object(tx, oid, Some(&before), &LfsObject { unreferenced_ms: now_ms, ..before });
    }
    Ok(())
}

/// Returns a repository that has the object, if there is one.
async fn holders(read: &impl Read, oid: &Oid) -> Result<Vec<(Key, bytes::Bytes)>, StoreError> {
    read.scan_bytes(&Scan::of(Range::prefix(keys::lfs_holders(oid)), 1)).await
}

/// Returns the objects that no repository has had since `until_ms` or before, at most `limit`.
pub async fn unreferenced(read: &impl Read, until_ms: i64, limit: usize) -> Result<Vec<Oid>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(keys::lfs_unreferenced_until(until_ms), limit)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_oid(key)).collect())
}

/// Returns since when the object that is due next has no repository.
pub async fn first_unreferenced_ms(read: &impl Read) -> Result<Option<i64>, StoreError> {
    first_time(read, keys::lfs_unreferenced_until(i64::MAX)).await
}

/// Deletes the row of an object and marks its bytes for removal, if no repository has had the object since `until_ms`
/// or before. Returns whether it did.
///
/// The bytes may have been acknowledged to clients, so the transaction reads the row and the repositories again. A
/// repository that gets the object meanwhile does so in a transaction that reads the row of the object: it either
/// commits first, and then this finds the repository, or it finds no row and stores bytes of its own.
pub async fn collect(tx: &Tx, oid: &Oid, until_ms: i64, now_ms: i64) -> Result<bool, StoreError> {
    let due = object(tx, oid).await?.filter(|row| row.unreferenced_ms != 0 && row.unreferenced_ms <= until_ms);
    let Some(row) = due else { return Ok(false) };
    if !holders(tx, oid).await?.is_empty() {
        put_object(tx, oid, Some(&row), &LfsObject { unreferenced_ms: 0, ..row });
        return Ok(false);
    }
    for key in index_keys(oid, &row) {
        tx.delete(key);
    }
    tx.delete(keys::lfs_object(oid));
    artifacts::discard(tx, row.id, GENERATION, now_ms);
    Ok(true)
}

/// Returns whether the bytes of a generation belong to an object.
pub async fn is_known(read: &impl Read, id: u64, generation: u64) -> Result<bool, StoreError> {
    Ok(generation == GENERATION && read.get_bytes(&keys::lfs_object_by_id(id)).await?.is_some())
}

/// Returns the next objects, and the key after which the next batch starts.
pub async fn batch(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<(Oid, LfsObject)>, Option<Key>), StoreError> {
    let all = Range::prefix(keys::tag("lo"));
    let range = after.map_or(all.clone(), |key| all.after(key));
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    let next = if pairs.len() < limit { None } else { pairs.last().map(|(key, _)| key.clone()) };
    let rows = pairs.iter().filter_map(|(key, bytes)| {
        // The check of the tables reports rows that cannot be read.
        Some((keys::trailing_oid(key)?, super::value::decode(key, bytes).ok()?))
    });
    Ok((rows.collect(), next))
}

/// Returns whether a repository has the object.
pub async fn is_held(read: &impl Read, oid: &Oid) -> Result<bool, StoreError> {
    Ok(!holders(read, oid).await?.is_empty())
}

/// Returns the total size of the objects of a repository, from their rows.
pub async fn size_of_entries(read: &impl Read, repository: u64) -> Result<u64, StoreError> {
    const PAGE: usize = 1_000;
    let (mut range, mut sum) = (Range::prefix(keys::lfs_entries(repository)), 0_u64);
    loop {
        let rows = read.scan::<LfsEntry>(&Scan::of(range.clone(), PAGE)).await?;
        sum = rows.iter().fold(sum, |sum, (_, row)| sum.saturating_add(row.size));
        match rows.last() {
            Some((last, _)) if rows.len() == PAGE => range = range.after(last),
            _ => return Ok(sum),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{Store, engine::MemoryEngine};

    const OID: Oid = [7; 32];

    async fn store() -> Store {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let fill = async |tx: Tx| {
            let object = LfsObject { id: 5, file: 6, size: 10, unreferenced_ms: 0 };
            put_object(&tx, &OID, None, &object);
            for id in [1, 2] {
                let repository = Repository { id, owner_id: 9, name: format!("r{id}"), ..Repository::default() };
                repositories::insert(&tx, &repository).await?;
                add_entry(&tx, &repository, &OID, &object, &LfsEntry { size: 10, ..LfsEntry::default() });
            }
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        store
    }

    async fn delete(store: &Store, repository: u64) {
        while !store.write(async |tx: Tx| delete_some(&tx, repository, 1, 50).await).await.expect("deleted") {}
    }

    async fn collected(store: &Store, until_ms: i64) -> bool {
        store.write(async |tx: Tx| collect(&tx, &OID, until_ms, 60).await).await.expect("a transaction")
    }

    #[tokio::test]
    async fn an_object_is_collected_when_no_repository_has_had_it_for_long_enough() {
        let store = store().await;
        let read = store.read().await.expect("a snapshot");
        assert_eq!(size_of_owner(&read, 9).await.expect("a sum"), 20);
        assert_eq!(size_of_entries(&read, 1).await.expect("a sum"), 10);
        delete(&store, 1).await;
        assert!(!collected(&store, i64::MAX).await, "another repository has it");
        delete(&store, 2).await;
        let read = store.read().await.expect("a snapshot");
        assert_eq!(first_unreferenced_ms(&read).await.expect("a time"), Some(50));
        assert_eq!(unreferenced(&read, 49, 9).await.expect("rows"), [[0; 32]; 0]);
        assert_eq!(unreferenced(&read, 50, 9).await.expect("rows"), [OID]);
        assert!(!collected(&store, 49).await);
        assert!(collected(&store, 50).await);
        let read = store.read().await.expect("a snapshot");
        assert_eq!(object(&read, &OID).await.expect("a row"), None);
        assert!(!is_known(&read, 5, GENERATION).await.expect("a row"));
        assert!(artifacts::is_garbage(&read, 5, GENERATION).await.expect("a row"));
    }

    #[tokio::test]
    async fn copied_objects_count_as_named_also_if_the_repository_had_them() {
        let store = store().await;
        let copy = async |tx: Tx| {
            for id in [1, 2] {
                unreferenced::set_unreferenced(&tx, id, &OID, 50).await?;
            }
            Ok::<_, StoreError>((copy_entries(&tx, 1, 2).await?, copy_entries(&tx, 1, 3).await?))
        };
        assert_eq!(store.write(copy).await.expect("copied"), (0, 10));
        let read = store.read().await.expect("a snapshot");
        for (id, unreferenced_ms) in [(1, 50), (2, 0), (3, 0)] {
            let row = entry(&read, id, &OID).await.expect("a row").expect("a row");
            assert_eq!((row.size, row.unreferenced_ms), (10, unreferenced_ms), "{id}");
        }
        assert_eq!(count_of(&read, 3, 9).await.expect("a number"), 1);
    }

    #[tokio::test]
    async fn an_object_that_a_repository_gets_again_is_kept() {
        let store = store().await;
        delete(&store, 1).await;
        delete(&store, 2).await;
        let add = async |tx: Tx| {
            let object = object(&tx, &OID).await?.expect("a row");
            let repository = repositories::get(&tx, 1).await?.expect("a row");
            add_entry(&tx, &repository, &OID, &object, &LfsEntry { size: 10, ..LfsEntry::default() });
            Ok::<_, StoreError>(())
        };
        store.write(add).await.expect("written");
        assert!(!collected(&store, i64::MAX).await);
        let read = store.read().await.expect("a snapshot");
        assert_eq!(object(&read, &OID).await.expect("a row").expect("a row").unreferenced_ms, 0);
        assert_eq!(first_unreferenced_ms(&read).await.expect("a time"), None);
    }

    #[tokio::test]
    async fn copied_objects_are_not_due_for_removal() {
        let store = store().await;
        let copy = async |tx: Tx| {
            for id in [1, 2] {
                assert!(unreferenced::set_unreferenced(&tx, id, &OID, 50).await?);
            }
            let added = [copy_entries(&tx, 1, 2).await?, copy_entries(&tx, 1, 3).await?];
            Ok::<_, StoreError>(added)
        };
        assert_eq!(store.write(copy).await.expect("copied"), [0, 10]);
        let read = store.read().await.expect("a snapshot");
        for (id, since) in [(1, 50), (2, 0), (3, 0)] {
            let row = entry(&read, id, &OID).await.expect("readable").expect("a row");
            assert_eq!(row.unreferenced_ms, since, "{id}");
        }
    }
}
