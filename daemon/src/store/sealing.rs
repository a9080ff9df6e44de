//! Keeps track of the keys with which values are encrypted, and encrypts values again when the key changes.
//!
//! The row `m/sealing` names every key with which a value may be encrypted. It is written before the first value is
//! encrypted with a key, and names only the current key after all values have been encrypted with it. So a start needs
//! only this row to find out whether a key is missing.

use bytes::Bytes;
use farrier_proto::store::{Hook, MirrorRemote, Sealing};

use super::{
    Read, Store, StoreError, Tx,
    engine::{Key, Range, Scan},
    keyring::{KeyId, Keyring},
    keys, raise_format, sealed, value,
};

/// Number of rows that one transaction reads, which bounds its size.
const PAGE: usize = 128;

/// The URL and the state of a hook whose secrets were removed because their key is lost.
const LOST_URL: &str = "https://lost.invalid/";
const LOST_REASON: &str = "the key of its URL and its secrets was lost; set them again";
/// The error of a mirror whose credentials were removed because their key is lost.
const LOST_CREDENTIALS: &str = "the key of its credentials was lost; add the mirror again";

/// Returns the ids of the keys with which values of the store may be encrypted.
pub async fn key_ids(read: &impl Read) -> Result<Vec<KeyId>, StoreError> {
    let row = read.get::<Sealing>(&keys::sealing()).await?.unwrap_or_default();
    Ok(row.key_ids.iter().filter_map(|id| KeyId::from_bytes(id)).collect())
}

/// The result of [`encrypt_all`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encrypted {
    /// Number of rows that were written.
    pub rows: u64,
    /// Number of rows that could not be decrypted and were not changed. The store still names their keys.
    pub unreadable: u64,
}

/// Encrypts all secrets with the current key of `keyring`, which must have all keys of [`key_ids`], and sets it for
/// `store`.
///
/// Can be interrupted at any time: the next call continues.
pub async fn encrypt_all(store: &Store, keyring: Keyring) -> Result<Encrypted, StoreError> {
    let current = keyring.current();
    store.set_keyring(keyring);
    let mut total = Encrypted::default();
    if !store.write(async |tx: Tx| begin(&tx, current).await).await? {
        return Ok(total);
    }
    for range in sealed::ranges() {
        let mut after: Option<Key> = None;
        loop {
            let rest = after.as_ref().map_or_else(|| range.clone(), |key| range.clone().after(key));
            let (page, last) = store.write(async |tx: Tx| rewrite(&tx, &rest).await).await?;
            total.rows += page.rows;
            total.unreadable += page.unreadable;
            after = last;
            if after.is_none() {
                break;
            }
        }
    }
    store
        .write(async |tx: Tx| {
            let before = tx.get::<Sealing>(&keys::sealing()).await?.unwrap_or_default();
            let keyring = tx.keyring().expect("set before the first transaction");
            let mut key_ids = before.key_ids;
            // A row that cannot be decrypted may be readable again after a repair, so the other keys are still needed.
            key_ids.retain(|id| match KeyId::from_bytes(id) {
                Some(id) => id == current || total.unreadable > 0 && keyring.has(id),
                None => false,
            });
            tx.put(keys::sealing(), &Sealing { key_ids, rewriting: false });
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(total)
}

/// Returns whether all readable values are encrypted with `current`, and unreadable rows still need other keys.
pub async fn needs_previous_keys(read: &impl Read, current: KeyId) -> Result<bool, StoreError> {
    let row = read.get::<Sealing>(&keys::sealing()).await?.unwrap_or_default();
    Ok(!row.rewriting && row.key_ids.len() > 1 && row.key_ids.first() == Some(&current.to_bytes()))
}

/// Removes the secrets that are encrypted with a key that `keyring` does not have. Hooks with such secrets are
/// deactivated, mirrors keep their address only, and signing keys are deleted, so that the daemon creates new ones.
/// Returns the number of rows.
pub async fn discard_unreadable(store: &Store, keyring: &Keyring, now_ms: i64) -> Result<u64, StoreError> {
    let mut discarded = 0;
    for range in sealed::ranges() {
        let mut after: Option<Key> = None;
        loop {
            let rest = after.as_ref().map_or_else(|| range.clone(), |key| range.clone().after(key));
            let (count, last) = store.write(async |tx: Tx| discard(&tx, &rest, keyring, now_ms).await).await?;
            discarded += count;
            after = last;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(discarded)
}

/// Removes unreadable secrets in the first page of `range`. An operator has requested this because the key is lost.
async fn discard(tx: &Tx, range: &Range, keyring: &Keyring, now_ms: i64) -> Result<(u64, Option<Key>), StoreError> {
    let pairs = tx.scan_bytes(&Scan::of(range.clone(), PAGE)).await?;
    let mut discarded = 0;
    for (key, bytes) in &pairs {
        if sealed::key_id(key, bytes)?.is_none_or(|id| keyring.has(id)) {
            continue;
        }
        discarded += 1;
        if keys::has_tag(key, "mp") {
            let remote: MirrorRemote = value::decode_public(key, bytes)?;
            tx.put(key.clone(), &MirrorRemote { last_error: LOST_CREDENTIALS.to_owned(), ..remote });
            continue;
        }
        if !keys::has_tag(key, "h") {
            tx.delete(key.clone());
            continue;
        }
        let hook: Hook = value::decode_public(key, bytes)?;
        let (url, reason) = (LOST_URL.to_owned(), LOST_REASON.to_owned());
        tx.put(key.clone(), &Hook { active: false, url, disabled_reason: reason, updated_ms: now_ms, ..hook });
    }
    Ok((discarded, next_page(&pairs)))
}

/// Returns the rows whose encrypted part cannot be decrypted, with the reason.
pub async fn unreadable(store: &Store) -> Result<Vec<(Key, String)>, StoreError> {
    let mut unreadable = Vec::new();
    for range in sealed::ranges() {
        let mut after: Option<Key> = None;
        loop {
            let rest = after.as_ref().map_or_else(|| range.clone(), |key| range.clone().after(key));
            let snapshot = store.read().await?;
            let pairs = snapshot.scan_bytes(&Scan::of(rest, PAGE)).await?;
            for (key, bytes) in &pairs {
                if let Err(error) = sealed::check(snapshot.keyring(), key, bytes) {
                    unreadable.push((key.clone(), error.to_string()));
                }
            }
            after = next_page(&pairs);
            if after.is_none() {
                break;
            }
        }
    }
    Ok(unreadable)
}

/// Returns the key after which the next page starts; `None` after the last one.
fn next_page(pairs: &[(Key, Bytes)]) -> Option<Key> {
    if pairs.len() < PAGE { None } else { pairs.last().map(|(key, _)| key.clone()) }
}

/// Records that values may be encrypted with `current` from now on. Returns whether values may exist that are not.
async fn begin(tx: &Tx, current: KeyId) -> Result<bool, StoreError> {
    let row = tx.get::<Sealing>(&keys::sealing()).await?.unwrap_or_default();
    let id = current.to_bytes();
    if row.key_ids.first() == Some(&id) {
        return Ok(row.rewriting);
    }
    let others = row.key_ids.into_iter().filter(|other| *other != id);
    let key_ids = std::iter::once(id.clone()).chain(others).collect();
    tx.put(keys::sealing(), &Sealing { key_ids, rewriting: true });
    // Earlier releases cannot read encrypted values.
    raise_format(tx).await?;
    Ok(true)
}

/// Encrypts the values of the first page of `range`. Returns the number of rows, and the key after which the next page
/// starts.
async fn rewrite(tx: &Tx, range: &Range) -> Result<(Encrypted, Option<Key>), StoreError> {
    let pairs = tx.scan_bytes(&Scan::of(range.clone(), PAGE)).await?;
    let keyring = tx.keyring().expect("set before the first transaction");
    let mut page = Encrypted::default();
    for (key, bytes) in &pairs {
        match sealed::reseal(keyring, key, bytes) {
            Ok(Some(bytes)) => {
                tx.put_bytes(key.clone(), bytes);
                page.rows += 1;
            }
            Ok(None) => {}
            // Stays as it is: a damaged row must not prevent a start. Reading it fails, and check-data reports it.
            Err(error) => {
                tracing::error!(%error, "a row was not encrypted again");
                page.unreadable += 1;
            }
        }
    }
    Ok((page, next_page(&pairs)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{
        engine::{Engine, MemoryEngine},
        hooks,
        keyring::StoreKey,
    };

    const HOOKS: u64 = 3 * PAGE as u64 + 1;

    async fn store(engine: &Arc<MemoryEngine>) -> Store {
        Store::open(Arc::clone(engine) as Arc<dyn Engine>).await.expect("a store")
    }

    async fn write_plain_hooks(store: &Store) {
        for ids in (1..=HOOKS).collect::<Vec<_>>().chunks(50) {
            let put = async |tx: Tx| {
                for id in ids {
                    hooks::insert(&tx, &Hook { id: *id, secret: format!("planted-{id}"), ..Hook::default() });
                }
                Ok::<_, StoreError>(())
            };
            store.write(put).await.expect("a write");
        }
    }

    async fn encrypted_with(store: &Store) -> Vec<Option<KeyId>> {
        let scan = Scan::of(Range::prefix(keys::hooks()), usize::MAX);
        let pairs = store.read().await.expect("a snapshot").scan_bytes(&scan).await.expect("a scan");
        let mut ids: Vec<_> = pairs.iter().map(|(key, bytes)| sealed::key_id(key, bytes).expect("readable")).collect();
        ids.dedup();
        ids
    }

    #[tokio::test]
    async fn plain_values_are_encrypted_once_and_again_with_a_new_key() {
        let engine = Arc::new(MemoryEngine::new());
        let plain = store(&engine).await;
        write_plain_hooks(&plain).await;
        let (first, second) = (StoreKey::random(), StoreKey::random());
        let first_ring = || Keyring::new(&first, &[]);
        assert_eq!(encrypt_all(&plain, first_ring()).await.expect("writes").rows, HOOKS);
        assert_eq!(encrypt_all(&plain, first_ring()).await.expect("nothing"), Encrypted::default());
        assert_eq!(encrypted_with(&plain).await, [Some(first.id())]);
        assert_eq!(encrypt_all(&plain, Keyring::new(&second, &[first])).await.expect("writes").rows, HOOKS);
        assert_eq!(encrypted_with(&plain).await, [Some(second.id())]);
        let snapshot = plain.read().await.expect("a snapshot");
        assert_eq!(key_ids(&snapshot).await.expect("a row"), [second.id()]);
        assert_eq!(
            hooks::get(&snapshot, HOOKS).await.expect("readable").expect("it").secret,
            format!("planted-{HOOKS}")
        );
    }

    #[tokio::test]
    async fn an_interrupted_rewrite_keeps_all_keys_and_continues() {
        let engine = Arc::new(MemoryEngine::new());
        let store = store(&engine).await;
        write_plain_hooks(&store).await;
        let (first, second) = (StoreKey::random(), StoreKey::random());
        encrypt_all(&store, Keyring::new(&first, &[])).await.expect("writes");
        store.set_keyring(Keyring::new(&second, std::slice::from_ref(&first)));
        store.write(async |tx: Tx| begin(&tx, second.id()).await).await.expect("a write");
        let hooks = sealed::ranges().into_iter().last().expect("hooks");
        store.write(async |tx: Tx| rewrite(&tx, &hooks).await).await.expect("one page");
        // As after a kill.
        let snapshot = store.read().await.expect("a snapshot");
        assert_eq!(key_ids(&snapshot).await.expect("a row"), [second.id(), first.id()]);
        assert_eq!(encrypted_with(&store).await, [Some(second.id()), Some(first.id())]);
        let left = encrypt_all(&store, Keyring::new(&second, &[first])).await.expect("writes");
        assert_eq!(left.rows, HOOKS - PAGE as u64);
        assert_eq!(encrypted_with(&store).await, [Some(second.id())]);
    }
}
