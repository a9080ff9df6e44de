//! Access token rows, indexed by the hash of the token and by account.

use farrier_proto::store::{Token, TokenReference};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
};

/// Most tokens of one account. Bounds the check for a duplicate name.
pub const PER_USER_MAX: usize = 1_000;

/// Returns the token with this SHA-256 hash.
pub async fn by_hash(read: &impl Read, hash: &[u8; 32]) -> Result<Option<Token>, StoreError> {
    read.get(&keys::token(hash)).await
}

/// Returns the tokens of an account, oldest first.
pub async fn of_user(read: &impl Read, user: u64) -> Result<Vec<Token>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::user_tokens(user)), PER_USER_MAX);
    let references = read.scan::<TokenReference>(&scan).await?;
    let rows: Vec<_> =
        references.iter().filter_map(|(_, reference)| hash_of(reference)).map(|h| keys::token(&h)).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// Returns the token `id` of an account.
pub async fn get(read: &impl Read, user: u64, id: u64) -> Result<Option<Token>, StoreError> {
    match read.get::<TokenReference>(&keys::user_token(user, id)).await? {
        Some(reference) => match hash_of(&reference) {
            Some(hash) => by_hash(read, &hash).await,
            None => Ok(None),
        },
        None => Ok(None),
    }
}

/// Returns up to `limit` tokens of all accounts that follow the key `after`, and the key after which the next batch
/// starts; `None` after the last batch.
pub async fn batch(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<Token>, Option<Key>), StoreError> {
    read.readable(Range::prefix(keys::tokens()), after, limit).await
}

/// Deletes a token. Returns `false` if it does not exist.
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

/// Inserts a token.
pub fn insert(tx: &Tx, hash: &[u8; 32], row: &Token) {
    tx.put(keys::token(hash), row);
    tx.put(keys::user_token(row.user_id, row.id), &TokenReference { hash: hash.to_vec() });
}

/// Updates a token.
pub fn update(tx: &Tx, hash: &[u8; 32], row: &Token) {
    tx.put(keys::token(hash), row);
}
