//! The keys that encrypt secrets in the store, and the encryption of one value.
//!
//! Values are encrypted with XChaCha20-Poly1305. The nonce is random; with 24 bytes it never repeats. The key of the
//! row and its other fields are authenticated as well, so an encrypted part is valid only in the row for which it was
//! written.

use std::fmt;

use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead as _, KeyInit as _, Payload},
};
use zeroize::Zeroizing;

use crate::model::secret;

/// Size of a key, bytes.
pub const KEY_BYTES: usize = 32;
/// Size of a key id, bytes.
const ID_BYTES: usize = 8;
/// Size of a nonce, bytes.
const NONCE_BYTES: usize = 24;
/// Separates the ids of keys, and the authenticated data, from other uses of the same functions.
const ID_PURPOSE: &[u8] = b"farrier store key id\0";
const ROW_PURPOSE: &[u8] = b"farrier store row\0";

/// The id of a key. It is derived from the key, so that the same id is always the same key. The key cannot be
/// computed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId([u8; ID_BYTES]);

impl KeyId {
    /// Returns the id in `bytes`, or `None` if it has another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes of the id.
    pub fn to_bytes(self) -> Vec<u8> {
        self.0.to_vec()
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// A key that encrypts secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreKey(Zeroizing<[u8; KEY_BYTES]>);

impl StoreKey {
    /// Returns a new random key.
    pub fn random() -> Self {
        Self(Zeroizing::new(secret::random_bytes()))
    }

    /// Parses 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        hex::decode_to_slice(text, key.as_mut()).ok()?;
        Some(Self(key))
    }

    /// Returns the key as 64 hexadecimal digits.
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(hex::encode(self.0.as_ref()))
    }

    /// Returns the id of the key.
    pub fn id(&self) -> KeyId {
        let digest = secret::sha256(&[ID_PURPOSE, self.0.as_ref()].concat());
        KeyId(*digest.first_chunk().expect("a digest is longer than an id"))
    }
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreKey({})", self.id())
    }
}

/// Why an encrypted value cannot be decrypted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The key is not available.
    #[error("it is encrypted with the key {0}, which is not available")]
    NoKey(KeyId),
    /// The value, its row or its key in the store was changed.
    #[error("its encrypted part was changed, or belongs to another row")]
    NotAuthentic,
}

/// The keys of a store. Values are encrypted with the first one and decrypted with any of them.
pub struct Keyring {
    keys: Vec<(KeyId, XChaCha20Poly1305)>,
}

impl Keyring {
    /// Creates a keyring. `current` encrypts new values.
    pub fn new(current: &StoreKey, others: &[StoreKey]) -> Self {
        let cipher = |key: &StoreKey| (key.id(), XChaCha20Poly1305::new((&*key.0).into()));
        Self { keys: std::iter::once(current).chain(others).map(cipher).collect() }
    }

    /// Returns the id of the key that encrypts new values.
    pub fn current(&self) -> KeyId {
        self.keys[0].0
    }

    /// Returns whether the keyring has the key `id`.
    pub fn has(&self, id: KeyId) -> bool {
        self.keys.iter().any(|(known, _)| *known == id)
    }

    /// Encrypts `secret` for the row with the key `row` and the other fields `public`. Returns the id of the key, the
    /// nonce, and the encrypted bytes with their tag.
    pub(super) fn seal(&self, row: &[u8], public: &[u8], secret: &[u8]) -> Vec<u8> {
        let (id, cipher) = &self.keys[0];
        let nonce: [u8; NONCE_BYTES] = secret::random_bytes();
        let payload = Payload { msg: secret, aad: &authenticated(*id, row, public) };
        let encrypted = cipher.encrypt(&XNonce::from(nonce), payload).expect("a value is smaller than 256 GiB");
        [&id.0[..], &nonce, &encrypted].concat()
    }

    /// Decrypts what [`Keyring::seal`] has returned for the same row.
    pub(super) fn open(&self, row: &[u8], public: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        let (id, rest) = split_id(sealed)?;
        let (nonce, encrypted) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(OpenError::NotAuthentic)?;
        let (_, cipher) = self.keys.iter().find(|(known, _)| *known == id).ok_or(OpenError::NoKey(id))?;
        let payload = Payload { msg: encrypted, aad: &authenticated(id, row, public) };
        let opened = cipher.decrypt(&XNonce::from(*nonce), payload);
        opened.map(Zeroizing::new).map_err(|_| OpenError::NotAuthentic)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys.iter().map(|(id, _)| id)).finish()
    }
}

/// Returns the id of the key with which `sealed` is encrypted.
pub(super) fn key_of(sealed: &[u8]) -> Option<KeyId> {
    split_id(sealed).ok().map(|(id, _)| id)
}

fn split_id(sealed: &[u8]) -> Result<(KeyId, &[u8]), OpenError> {
    let (id, rest) = sealed.split_first_chunk().ok_or(OpenError::NotAuthentic)?;
    Ok((KeyId(*id), rest))
}

/// Returns the data that is authenticated with a value. The length keeps different rows from looking the same.
fn authenticated(id: KeyId, row: &[u8], public: &[u8]) -> Vec<u8> {
    [ROW_PURPOSE, &id.0, &(row.len() as u64).to_be_bytes(), row, public].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_opens_only_in_its_row_with_its_fields_and_its_key() {
        let (key, other) = (StoreKey::random(), StoreKey::random());
        let keyring = Keyring::new(&key, &[]);
        let sealed = keyring.seal(b"h\x001", b"public", b"hush");
        assert_eq!(keyring.open(b"h\x001", b"public", &sealed).expect("its row").as_slice(), b"hush");
        let rotated = Keyring::new(&other, std::slice::from_ref(&key));
        assert_eq!(rotated.open(b"h\x001", b"public", &sealed).expect("an older key").as_slice(), b"hush");
        assert_eq!(keyring.open(b"h\x002", b"public", &sealed), Err(OpenError::NotAuthentic));
        assert_eq!(keyring.open(b"h\x001p", b"ublic", &sealed), Err(OpenError::NotAuthentic));
        assert_eq!(Keyring::new(&other, &[]).open(b"h\x001", b"public", &sealed), Err(OpenError::NoKey(key.id())));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            keyring.open(b"h\x001", b"public", &changed).expect_err("a changed byte");
            keyring.open(b"h\x001", b"public", &sealed[..at]).expect_err("a missing byte");
        }
    }

    #[test]
    fn the_same_value_is_encrypted_differently_each_time() {
        let keyring = Keyring::new(&StoreKey::random(), &[]);
        assert_ne!(keyring.seal(b"h", b"", b"hush"), keyring.seal(b"h", b"", b"hush"));
    }

    #[test]
    fn keys_are_written_and_parsed_and_not_printed() {
        let key = StoreKey::random();
        assert_eq!(StoreKey::parse(&key.to_hex()), Some(key.clone()));
        for text in ["", "00", &"0".repeat(63), &"g".repeat(64), &"0".repeat(66)] {
            assert_eq!(StoreKey::parse(text), None, "{text}");
        }
        let printed = format!("{key:?} {:?}", Keyring::new(&key, &[]));
        assert!(!printed.contains(&*key.to_hex()) && printed.contains(&key.id().to_string()), "{printed}");
    }
}
