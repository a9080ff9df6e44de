//! OpenPGP keys of accounts. They are found by account and by the OpenPGP key IDs of their parts.

use farrier_proto::store::{GpgKey, Reference};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
};

/// Most keys of an account.
pub const PER_ACCOUNT_MAX: usize = 100;

/// Returns the key `id` of an account.
pub async fn get(read: &impl Read, account: u64, id: u64) -> Result<Option<GpgKey>, StoreError> {
    read.get(&keys::gpg_key(account, id)).await
}

/// Returns the keys of an account, by id.
pub async fn of_account(read: &impl Read, account: u64) -> Result<Vec<GpgKey>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::gpg_keys_of_account(account)), PER_ACCOUNT_MAX);
    Ok(read.scan(&scan).await?.into_iter().map(|(_, row)| row).collect())
}

/// Returns the key of an account that has a part with this OpenPGP key ID.
pub async fn of_part(read: &impl Read, account: u64, key_id: u64) -> Result<Option<GpgKey>, StoreError> {
    match read.get::<Reference>(&keys::gpg_key_of_part(key_id, account)).await? {
        Some(found) => get(read, account, found.id).await,
        None => Ok(None),
    }
}

/// Returns the keys of the index entries of a key.
pub fn index_keys(row: &GpgKey) -> impl Iterator<Item = Key> {
    row.parts.iter().map(|part| keys::gpg_key_of_part(part.key_id, row.account_id))
}

/// Writes a key and its index entries. A written key keeps its parts and its account.
pub fn put(tx: &Tx, row: &GpgKey) {
    for key in index_keys(row) {
        tx.put(key, &Reference { id: row.id });
    }
    tx.put(keys::gpg_key(row.account_id, row.id), row);
}

/// Deletes a key and its index entries.
pub fn delete(tx: &Tx, row: &GpgKey) {
    for key in index_keys(row) {
        tx.delete(key);
    }
    tx.delete(keys::gpg_key(row.account_id, row.id));
}
