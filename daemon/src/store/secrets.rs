//! The daemon's own secrets.

use farrier_proto::store::SigningKey;

use super::{Read as _, StoreError, Tx, keys};

/// What everything is signed with is derived from this one. Others may come to stand beside it.
const FIRST: u64 = 1;

/// The first signing key; `fresh`, which is kept from then on, if there was none.
pub async fn signing_key(tx: &Tx, fresh: SigningKey) -> Result<SigningKey, StoreError> {
    if let Some(key) = tx.get(&keys::signing_key(FIRST)).await? {
        return Ok(key);
    }
    tx.put(keys::signing_key(FIRST), &fresh);
    Ok(fresh)
}
