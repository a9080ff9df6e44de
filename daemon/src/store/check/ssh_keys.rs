//! Rules of the index check for SSH keys and deploy keys.

use bytes::Bytes;
use farrier_proto::store::{DeployKey, SshKey};

use super::{
    super::{StoreError, engine::Key, keys, ssh_keys, value},
    tables::{IndexEntry, references},
};

/// Returns the index entries of a key.
pub(super) fn key(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: SshKey = value::decode(key, bytes)?;
    Ok(references(ssh_keys::index_keys(&row), row.id))
}

/// Returns the key of the account of a key. The content of deploy keys has none.
pub(super) fn account(key: &[u8], bytes: &Bytes) -> Result<Vec<Key>, StoreError> {
    let row: SshKey = value::decode(key, bytes)?;
    Ok(if row.account_id == 0 { Vec::new() } else { vec![keys::user(row.account_id)] })
}

/// Returns the index entry of a deploy key.
pub(super) fn deploy_key(key: &[u8], bytes: &Bytes) -> Result<Vec<IndexEntry>, StoreError> {
    let row: DeployKey = value::decode(key, bytes)?;
    Ok(references([keys::deploy_key_of_content(row.key_id, row.repository_id)], row.id))
}

/// Returns the keys of the repository and of the content of a deploy key.
pub(super) fn required(key: &[u8], bytes: &Bytes) -> Result<Vec<Key>, StoreError> {
    let row: DeployKey = value::decode(key, bytes)?;
    Ok(vec![keys::repository(row.repository_id), keys::ssh_key(row.key_id)])
}
