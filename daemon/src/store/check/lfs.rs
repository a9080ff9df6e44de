//! Rules of the index check for LFS objects and locks.

use bytes::Bytes;
use farrier_proto::store::{LfsEntry, LfsLock, LfsObject, LfsPlace, Reference};

use super::{
    super::{StoreError, engine::Key, keys, lfs, value},
    tables::{IndexEntry, entry as index_entry},
};

/// Returns the index entries of an object.
pub(super) fn object(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: LfsObject = value::decode(key, bytes)?;
    let Some(oid) = keys::trailing_oid(key) else { return Ok(Vec::new()) };
    let place = LfsPlace { oid: oid.to_vec() };
    Ok(lfs::index_keys(&oid, &row).into_iter().map(|key| index_entry(key, &place)).collect())
}

/// Returns the key of the object to which an index entry belongs.
pub(super) fn object_of_place(_: &[u8], bytes: &Bytes) -> Option<Key> {
    let place: LfsPlace = value::decode(b"", bytes).ok()?;
    Some(keys::lfs_object(place.oid.as_slice().try_into().ok()?))
}

/// Returns the index entry of an object of a repository.
pub(super) fn entry(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    value::decode::<LfsEntry>(key, bytes)?;
    let place = keys::first_id(key).zip(keys::trailing_oid(key));
    Ok(place.map(|(id, oid)| index_entry(keys::lfs_holder(&oid, id), &Reference { id })).into_iter().collect())
}

/// Returns the keys of the repository and of the object of an entry.
pub(super) fn required(key: &[u8], bytes: &Bytes) -> Result<Vec<Key>, StoreError> {
    value::decode::<LfsEntry>(key, bytes)?;
    let object = keys::trailing_oid(key).map(|oid| keys::lfs_object(&oid));
    Ok(keys::first_id(key).map(keys::repository).into_iter().chain(object).collect())
}

/// Returns the index entry of a lock.
pub(super) fn lock(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: LfsLock = value::decode(key, bytes)?;
    Ok(vec![index_entry(keys::lfs_lock_of_path(row.repository_id, &row.path), &Reference { id: row.id })])
}
