//! The rows and index entries of mirrors.

use bytes::Bytes;
use farrier_proto::store::MirrorRemote;

use super::{
    super::{StoreError, engine::Key, keys, mirrors, value},
    tables::{IndexEntry, references},
};

/// Returns the index entries that a remote needs.
pub(super) fn remote(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    // Without a key of the store: the credentials are not needed.
    let row: MirrorRemote = value::decode_public(key, bytes)?;
    let repository = keys::first_id(key).unwrap_or_default();
    Ok(references(mirrors::due_key(repository, &row), repository))
}

/// Returns the repository of a remote.
#[expect(clippy::unnecessary_wraps, reason = "the type of all rules of the check")]
pub(super) fn required(key: &[u8], _: &Bytes) -> Result<Vec<Key>, StoreError> {
    Ok(keys::first_id(key).map(keys::repository).into_iter().collect())
}

/// Returns the row to which an entry of due mirrors belongs.
pub(super) fn row_of_due(key: &[u8], _: &Bytes) -> Option<Key> {
    let (repository, name) = keys::mirror_due_parts(key)?;
    Some(if name.is_empty() { keys::repository(repository) } else { keys::mirror_remote(repository, name) })
}
