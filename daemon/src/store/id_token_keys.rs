//! Rows of the keys that sign the ID tokens of jobs. Their secrets are encrypted.
//!
//! They have numbers after that of the daemon's own signing key, in the same key range.

use farrier_proto::store::SigningKey;

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys,
    value::{self, ValueError},
};

/// The number of the first key. The number before it is that of the daemon's own signing key.
const FIRST: u64 = 2;
/// Maximum number of keys to read. Keys are removed after they were replaced, so there are a few for each algorithm.
const MAX: usize = 1_000;

/// Returns all keys with their numbers, oldest first.
pub async fn all(read: &impl Read) -> Result<Vec<(u64, SigningKey)>, StoreError> {
    let rows = read.scan::<SigningKey>(&Scan::of(Range::prefix(keys::signing_keys()), MAX)).await?;
    let numbered = rows.into_iter().filter_map(|(key, row)| Some((keys::trailing_id(&key)?, row)));
    Ok(numbered.filter(|(number, _)| *number >= FIRST).collect())
}

/// Inserts a key with the number after those of `all`, and returns the number.
pub fn insert(tx: &Tx, all: &[(u64, SigningKey)], row: &SigningKey) -> u64 {
    let number = all.iter().map(|(number, _)| number + 1).max().unwrap_or(FIRST);
    tx.put(keys::signing_key(number), row);
    number
}

/// Deletes the key `number`. The caller has checked that all tokens that it signed have expired.
pub fn delete(tx: &Tx, number: u64) {
    tx.delete(keys::signing_key(number));
}

/// Returns the error for a row whose secret is not that of a key.
pub fn unusable(number: u64) -> StoreError {
    value::corrupt(&keys::signing_key(number), ValueError::SigningKey)
}
