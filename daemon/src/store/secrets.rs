//! The daemon's signing key.

use farrier_proto::store::SigningKey;

use super::{Read as _, StoreError, Tx, keys};

/// Number of the key from which all other keys are derived. More keys may be added.
const FIRST: u64 = 1;

/// Returns the stored signing key. If there is none, stores and returns `fresh`.
pub async fn signing_key(tx: &Tx, fresh: SigningKey) -> Result<SigningKey, StoreError> {
    if let Some(key) = tx.get(&keys::signing_key(FIRST)).await? {
        return Ok(key);
    }
    tx.put(keys::signing_key(FIRST), &fresh);
    Ok(fresh)
}
