//! The objects of a repository that no file of it names any more.

use farrier_proto::store::{LfsEntry, Repository};

use super::{Oid, entry, release};
use crate::store::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys, repositories,
};

/// Returns the objects of a repository after the key `after`, at most `limit`, and the key after which the next batch
/// starts.
pub async fn entries(
    read: &impl Read,
    repository: u64,
    after: Option<&Key>,
    limit: usize,
) -> Result<(Vec<(Oid, LfsEntry)>, Option<Key>), StoreError> {
    let all = Range::prefix(keys::lfs_entries(repository));
    let range = after.map_or(all.clone(), |key| all.after(key));
    let pairs = read.scan::<LfsEntry>(&Scan::of(range, limit)).await?;
    let next = if pairs.len() < limit { None } else { pairs.last().map(|(key, _)| key.clone()) };
    Ok((pairs.into_iter().filter_map(|(key, row)| Some((keys::trailing_oid(&key)?, row))).collect(), next))
}

/// Sets since when no file names an object; 0 if one does. Returns `false` if the repository does not have the object.
pub async fn set_unreferenced(tx: &Tx, repository: u64, oid: &Oid, unreferenced_ms: i64) -> Result<bool, StoreError> {
    let Some(row) = entry(tx, repository, oid).await? else { return Ok(false) };
    if row.unreferenced_ms != unreferenced_ms {
        tx.put(keys::lfs_entry(repository, oid), &LfsEntry { unreferenced_ms, ..row });
    }
    Ok(true)
}

/// Removes those of `oids` from a repository that no file has named since `until_ms` or before. Returns their number
/// and size.
///
/// The objects may have been acknowledged to clients. The caller holds the lock of the repository, has just searched
/// all its refs, and checks in the transaction that no other node has moved one. The transaction reads the rows again:
/// an upload, or an answer to a client that the repository has the object, has set them to 0.
pub async fn remove(
    tx: &Tx,
    repository: u64,
    oids: &[Oid],
    until_ms: i64,
    now_ms: i64,
) -> Result<(u64, u64), StoreError> {
    let Some(before) = repositories::get(tx, repository).await?.filter(|row| !row.deleted) else { return Ok((0, 0)) };
    let (mut count, mut bytes) = (0, 0_u64);
    for oid in oids {
        let row = entry(tx, repository, oid).await?;
        let Some(row) = row.filter(|row| row.unreferenced_ms != 0 && row.unreferenced_ms <= until_ms) else { continue };
        tx.delete(keys::lfs_entry(repository, oid));
        release(tx, repository, oid, now_ms).await?;
        count += 1;
        bytes = bytes.saturating_add(row.size);
    }
    if count > 0 {
        let lfs_size = before.lfs_size.saturating_sub(bytes);
        repositories::put(tx, Some(&before), &Repository { lfs_size, ..before.clone() });
    }
    Ok((count, bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::LfsObject;

    use super::*;
    use crate::store::{Store, engine::MemoryEngine, lfs};

    const UNNAMED: Oid = [1; 32];
    const NAMED: Oid = [2; 32];

    #[tokio::test]
    async fn only_objects_that_were_unreferenced_for_long_enough_are_removed() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let fill = async |tx: Tx| {
            let repository = Repository { id: 3, owner_id: 9, name: "r".into(), ..Repository::default() };
            repositories::insert(&tx, &repository).await?;
            for (oid, id) in [(UNNAMED, 5), (NAMED, 6)] {
                let object = LfsObject { id, file: id, size: 10, unreferenced_ms: 0 };
                lfs::put_object(&tx, &oid, None, &object);
                let repository = repositories::get(&tx, 3).await?.expect("a row");
                lfs::add_entry(&tx, &repository, &oid, &object, &LfsEntry { size: 10, ..LfsEntry::default() });
            }
            assert!(set_unreferenced(&tx, 3, &UNNAMED, 50).await?);
            assert!(!set_unreferenced(&tx, 4, &UNNAMED, 50).await?);
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        let remove = async |until_ms| {
            store.write(async |tx: Tx| remove(&tx, 3, &[UNNAMED, NAMED], until_ms, 90).await).await.expect("removed")
        };
        assert_eq!(remove(49).await, (0, 0));
        assert_eq!(remove(50).await, (1, 10));
        assert_eq!(remove(50).await, (0, 0));
        let read = store.read().await.expect("a snapshot");
        let (rows, next) = entries(&read, 3, None, 1).await.expect("rows");
        assert_eq!(rows.iter().map(|(oid, _)| *oid).collect::<Vec<_>>(), [NAMED]);
        assert!(entries(&read, 3, next.as_ref(), 1).await.expect("rows").0.is_empty());
        assert_eq!(repositories::get(&read, 3).await.expect("a row").expect("a row").lfs_size, 10);
        assert_eq!(
            lfs::unreferenced(&read, 90, 9).await.expect("rows"),
            [UNNAMED],
            "its bytes are removed a day later"
        );
    }
}
