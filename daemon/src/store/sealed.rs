//! Decides which fields of which rows are encrypted, and encodes and decodes these rows.
//!
//! A row with secrets is stored in two parts, each a message of the row's type: the fields that are not secret, and the
//! encrypted ones. Together they are the row again, because fields of two messages in a row are merged. So services
//! and row functions work with complete rows, and `check-data` reads the first part without a key.

use bytes::Bytes;
use farrier_proto::store::{Hook, MirrorRemote, SigningKey};
use prost::Message;
use zeroize::Zeroizing;

use super::{
    StoreError,
    engine::Range,
    keyring::{self, KeyId, Keyring, OpenError},
    keys,
    value::{self, Stored, ValueError},
};
use crate::model::hook_config;

/// Returns the ranges of all rows that can have secrets.
pub(super) fn ranges() -> [Range; 3] {
    [keys::signing_keys(), keys::mirror_remotes(), keys::hooks()].map(Range::prefix)
}

/// Encodes the row of `key`. Without a keyring, or without secrets in the row, nothing is encrypted.
pub(super) fn encode(keyring: Option<&Keyring>, key: &[u8], row: &impl Message) -> Bytes {
    match keyring.filter(|_| may_have_secrets(key)) {
        Some(keyring) => seal(keyring, key, &Zeroizing::new(row.encode_to_vec())).unwrap_or_else(|| value::encode(row)),
        None => value::encode(row),
    }
}

/// Decodes the value of `key`, including its encrypted part.
pub(super) fn decode<M: Message + Default>(
    keyring: Option<&Keyring>,
    key: &[u8],
    bytes: &[u8],
) -> Result<M, StoreError> {
    match value::stored(key, bytes)? {
        Stored::Plain(message) => M::decode(message).map_err(|source| value::corrupt(key, source)),
        Stored::Sealed { public, sealed } => {
            let secret = open(keyring, key, public, sealed)?;
            let mut row = M::decode(public).map_err(|source| value::corrupt(key, source))?;
            row.merge(secret.as_slice()).map_err(|source| value::corrupt(key, source))?;
            Ok(row)
        }
    }
}

/// Returns the id of the key with which the value is encrypted; `None` if it is not.
pub(super) fn key_id(key: &[u8], bytes: &[u8]) -> Result<Option<KeyId>, StoreError> {
    match value::stored(key, bytes)? {
        Stored::Plain(_) => Ok(None),
        Stored::Sealed { sealed, .. } => Ok(keyring::key_of(sealed)),
    }
}

/// Returns an error if the encrypted part of the value of `key` cannot be decrypted.
pub(super) fn check(keyring: Option<&Keyring>, key: &[u8], bytes: &[u8]) -> Result<(), ValueError> {
    match value::stored(key, bytes) {
        Ok(Stored::Sealed { public, sealed }) => decrypt(keyring, key, public, sealed).map(drop),
        // The check of tables reports values that cannot be read.
        Ok(Stored::Plain(_)) | Err(_) => Ok(()),
    }
}

/// Encrypts the value of `key` with the current key. `None`: it already is, or it has no secrets.
pub(super) fn reseal(keyring: &Keyring, key: &[u8], bytes: &[u8]) -> Result<Option<Bytes>, StoreError> {
    match value::stored(key, bytes)? {
        Stored::Plain(message) => Ok(seal(keyring, key, message)),
        Stored::Sealed { sealed, .. } if keyring::key_of(sealed) == Some(keyring.current()) => Ok(None),
        Stored::Sealed { public, sealed } => {
            let secret = open(Some(keyring), key, public, sealed)?;
            Ok(Some(value::encode_sealed(public, &keyring.seal(key, public, &secret))))
        }
    }
}

fn open(keyring: Option<&Keyring>, key: &[u8], public: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    decrypt(keyring, key, public, sealed).map_err(|source| value::corrupt(key, source))
}

fn decrypt(
    keyring: Option<&Keyring>,
    key: &[u8],
    public: &[u8],
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, ValueError> {
    let no_key = || keyring::key_of(sealed).map_or(OpenError::NotAuthentic, OpenError::NoKey);
    Ok(keyring.ok_or_else(no_key)?.open(key, public, sealed)?)
}

/// Encrypts the secrets of an encoded message. `None` if it has none.
fn seal(keyring: &Keyring, key: &[u8], message: &[u8]) -> Option<Bytes> {
    let (public, secret) = split(key, message)?;
    Some(value::encode_sealed(&public, &keyring.seal(key, &public, &secret)))
}

fn may_have_secrets(key: &[u8]) -> bool {
    keys::has_tag(key, "h") || keys::has_tag(key, "mp") || is_signing_key(key)
}

fn is_signing_key(key: &[u8]) -> bool {
    key.starts_with(&keys::signing_keys())
}

/// Splits the encoded message of a row into the fields that are not secret and the secret ones. `None` if no field is
/// secret.
fn split(key: &[u8], message: &[u8]) -> Option<(Vec<u8>, Zeroizing<Vec<u8>>)> {
    if keys::has_tag(key, "h") {
        let mut public = Hook::decode(message).ok()?;
        let kind = hook_config::by_name(&public.r#type);
        let is_secret = |name: &str| kind.is_none_or(|kind| kind.is_secret(name));
        let settings = std::mem::take(&mut public.settings);
        let (secret_settings, settings) = settings.into_iter().partition(|(name, _)| is_secret(name));
        public.settings = settings;
        let secret = Hook {
            url: std::mem::take(&mut public.url),
            secret: std::mem::take(&mut public.secret),
            old_secret: std::mem::take(&mut public.old_secret),
            authorization: std::mem::take(&mut public.authorization),
            settings: secret_settings,
            ..Hook::default()
        };
        return parts(&public, &secret);
    }
    if keys::has_tag(key, "mp") {
        let mut public = MirrorRemote::decode(message).ok()?;
        let secret = MirrorRemote {
            username: std::mem::take(&mut public.username),
            password: std::mem::take(&mut public.password),
            ..MirrorRemote::default()
        };
        return parts(&public, &secret);
    }
    if is_signing_key(key) {
        let mut public = SigningKey::decode(message).ok()?;
        let secret = SigningKey { secret: std::mem::take(&mut public.secret), ..SigningKey::default() };
        return parts(&public, &secret);
    }
    None
}

fn parts(public: &impl Message, secret: &impl Message) -> Option<(Vec<u8>, Zeroizing<Vec<u8>>)> {
    let secret = Zeroizing::new(secret.encode_to_vec());
    (!secret.is_empty()).then(|| (public.encode_to_vec(), secret))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::keyring::StoreKey;

    fn hook() -> Hook {
        let settings = [("bot_token", "12:planted-bot"), ("chat_id", "-7")];
        Hook {
            id: 3,
            r#type: "telegram".into(),
            url: "https://chat/planted-url".into(),
            secret: "planted-secret".into(),
            old_secret: "planted-old".into(),
            authorization: "Bearer planted-header".into(),
            events: vec!["push".into()],
            active: true,
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..Hook::default()
        }
    }

    #[test]
    fn secrets_of_a_hook_are_encrypted_and_its_other_fields_are_not() {
        let (keyring, key) = (Keyring::new(&StoreKey::random(), &[]), keys::hook(3));
        let bytes = encode(Some(&keyring), &key, &hook());
        assert!(!String::from_utf8_lossy(&bytes).contains("planted"));
        assert_eq!(decode::<Hook>(Some(&keyring), &key, &bytes).expect("its key"), hook());
        let public: Hook = value::decode_public(&key, &bytes).expect("the first part");
        assert_eq!((public.id, public.active, public.events), (3, true, vec!["push".to_owned()]));
        assert_eq!(public.settings.keys().collect::<Vec<_>>(), ["chat_id"]);
        assert!(!format!("{:?}", hook()).contains("planted"));
    }

    #[test]
    fn an_encrypted_row_does_not_decode_in_another_row_or_without_the_key() {
        let (keyring, key) = (Keyring::new(&StoreKey::random(), &[]), keys::hook(3));
        let bytes = encode(Some(&keyring), &key, &hook());
        decode::<Hook>(Some(&keyring), &keys::hook(4), &bytes).expect_err("another row");
        let error = decode::<Hook>(None, &key, &bytes).expect_err("no key");
        let source = std::error::Error::source(&error).expect("a cause").to_string();
        assert!(source.contains(&keyring.current().to_string()), "{source}");
        value::decode::<Hook>(&key, &bytes).expect_err("a reader without encryption");
    }

    #[test]
    fn rows_without_secrets_and_other_rows_are_not_encrypted() {
        let keyring = Keyring::new(&StoreKey::random(), &[]);
        let plain = Hook { id: 1, ..Hook::default() };
        assert_eq!(encode(Some(&keyring), &keys::hook(1), &plain), value::encode(&plain));
        assert_eq!(encode(Some(&keyring), &keys::hook_state(1), &hook()), value::encode(&hook()));
        assert_eq!(encode(None, &keys::hook(3), &hook()), value::encode(&hook()));
    }

    #[test]
    fn the_credentials_of_a_mirror_are_encrypted_and_its_address_is_not() {
        let (keyring, key) = (Keyring::new(&StoreKey::random(), &[]), keys::mirror_remote(3, "x"));
        let row = MirrorRemote {
            name: "x".into(),
            address: "https://h/a".into(),
            username: "planted-user".into(),
            password: "planted-password".into(),
            ..MirrorRemote::default()
        };
        let bytes = encode(Some(&keyring), &key, &row);
        assert!(!String::from_utf8_lossy(&bytes).contains("planted") && !format!("{row:?}").contains("planted"));
        assert_eq!(decode::<MirrorRemote>(Some(&keyring), &key, &bytes).expect("its key"), row);
        let public: MirrorRemote = value::decode_public(&key, &bytes).expect("the first part");
        assert_eq!((public.address.as_str(), public.password.as_str()), ("https://h/a", ""));
    }

    #[test]
    fn a_key_of_id_tokens_is_encrypted_except_its_public_key() {
        let (keyring, key) = (Keyring::new(&StoreKey::random(), &[]), keys::signing_key(2));
        let row = SigningKey {
            secret: b"planted".to_vec(),
            created_ms: 5,
            algorithm: "ES256".into(),
            active_ms: 7,
            public_jwk: "{}".into(),
        };
        let bytes = encode(Some(&keyring), &key, &row);
        assert!(!String::from_utf8_lossy(&bytes).contains("planted"));
        assert_eq!(decode::<SigningKey>(Some(&keyring), &key, &bytes).expect("its key"), row);
        let public: SigningKey = value::decode_public(&key, &bytes).expect("the first part");
        assert_eq!(public, SigningKey { secret: Vec::new(), ..row });
    }

    #[test]
    fn resealing_encrypts_plain_values_and_values_of_older_keys_once() {
        let (old, new) = (StoreKey::random(), StoreKey::random());
        let key = keys::signing_key(1);
        let row = SigningKey { secret: b"planted".to_vec(), created_ms: 5, ..SigningKey::default() };
        let first = Keyring::new(&old, &[]);
        let sealed = reseal(&first, &key, &value::encode(&row)).expect("readable").expect("it has a secret");
        assert_eq!(reseal(&first, &key, &sealed).expect("readable"), None);
        let second = Keyring::new(&new, &[old]);
        let resealed = reseal(&second, &key, &sealed).expect("readable").expect("another key");
        assert_eq!(key_id(&key, &resealed).expect("readable"), Some(new.id()));
        let only_new = Keyring::new(&new, &[]);
        assert_eq!(decode::<SigningKey>(Some(&only_new), &key, &resealed).expect("the new key"), row);
    }
}
