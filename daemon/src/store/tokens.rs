//! Access tokens: found by the hash of their clear form, listed by account.

use farrier_proto::store::{Token, TokenReference};

use super::{
    Read, StoreError, Tx,
    engine::{Range, Scan},
    keys,
};

/// Most tokens of one account: bounds the check for a used name.
pub const PER_USER_MAX: usize = 1_000;

/// The token whose clear form has this SHA-256.
pub async fn by_hash(read: &impl Read, hash: &[u8; 32]) -> Result<Option<Token>, StoreError> {
    read.get(&keys::token(hash)).await
}

/// The tokens of an account, oldest first.
pub async fn of_user(read: &impl Read, user: u64) -> Result<Vec<Token>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::user_tokens(user)), PER_USER_MAX);
    let references = read.scan::<TokenReference>(&scan).await?;
    let rows: Vec<_> =
        references.iter().filter_map(|(_, reference)| hash_of(reference)).map(|h| keys::token(&h)).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// The token with number `id` of an account.
pub async fn get(read: &impl Read, user: u64, id: u64) -> Result<Option<Token>, StoreError> {
    match read.get::<TokenReference>(&keys::user_token(user, id)).await? {
        Some(reference) => match hash_of(&reference) {
            Some(hash) => by_hash(read, &hash).await,
            None => Ok(None),
        },
        None => Ok(None),
    }
}

/// Removes a token; `false` when there is none.
pub async fn delete(tx: &Tx, user: u64, id: u64) -> Result<bool, StoreError> {
    let Some(reference) = tx.get::<TokenReference>(&keys::user_token(user, id)).await? else { return Ok(false) };
    if let Some(hash) = hash_of(&reference) {
        tx.delete(keys::token(&hash));
    }
    tx.delete(keys::user_token(user, id));
    Ok(true)
}

fn hash_of(reference: &TokenReference) -> Option<[u8; 32]> {
    reference.hash.as_slice().try_into().ok()
}

/// Inserts `row` under the hash of its clear form.
pub fn insert(tx: &Tx, hash: &[u8; 32], row: &Token) {
    tx.put(keys::token(hash), row);
    tx.put(keys::user_token(row.user_id, row.id), &TokenReference { hash: hash.to_vec() });
}

/// Writes a token that exists.
pub fn update(tx: &Tx, hash: &[u8; 32], row: &Token) {
    tx.put(keys::token(hash), row);
}
