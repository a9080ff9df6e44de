//! The rows and index entries of OpenPGP keys.

use bytes::Bytes;
use farrier_proto::store::{GpgKey, Reference};

use super::{
    super::{StoreError, engine::Key, gpg_keys, keys, value},
    tables::{IndexEntry, references},
};

/// Returns the index entries of a key.
pub(super) fn key(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: GpgKey = value::decode(key, bytes)?;
    Ok(references(gpg_keys::index_keys(&row), row.id))
}

/// Returns the key of the account of a key.
#[expect(clippy::unnecessary_wraps, reason = "the type of all rules of the check")]
pub(super) fn account(key: &[u8], _: &Bytes) -> Result<Vec<Key>, StoreError> {
    Ok(keys::first_id(key).map(keys::user).into_iter().collect())
}

/// Returns the row to which an entry of a primary key or subkey belongs.
pub(super) fn row_of_part(key: &[u8], bytes: &Bytes) -> Option<Key> {
    let reference: Reference = value::decode(key, bytes).ok()?;
    Some(keys::gpg_key(keys::trailing_id(key)?, reference.id))
}
