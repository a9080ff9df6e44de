//! Encodes and decodes stored values: one format byte and a prost message, of which a part may be encrypted.
//!
//! The format byte allows another encoding later. In both encodings, fields are only added. See `docs/storage.md`.

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;

use super::{StoreError, keyring::OpenError};

/// Level of the whole layout, stored under `m/format`.
///
/// Level 2: values may be encrypted. Level 3: repositories are also listed by stars and forks. Level 4: the rows of
/// refs decide, not their files. Level 5: the ids of events and deliveries are derived from the order of transactions.
/// Level 6: packs have rows, which an earlier release would leave behind when it repacks. Level 7: the ids of audit
/// entries are derived from the order of transactions. Dropped packs have rows, without which an earlier release would
/// make their files part of the repository again. Rows of packs say where the pack is in the bucket; an earlier release
/// would add packs that are not there. Level 8: the files of small packs are rows, where an earlier release would not
/// look for them.
///
/// This is the highest level that this release can read. It writes only what the level of the store allows, which can
/// be lower, see [`Store::format_level`](super::Store::format_level).
pub const FORMAT_LEVEL: u32 = 8;
/// The lowest level of a store that this release serves. Every start converts the rows of lower levels, which only a
/// daemon can do that uses the store alone. Daemons of releases from this level on can share a store.
pub const CONVERTED_LEVEL: u32 = 7;

/// Format byte of a prost message of `store.proto`.
const PROST: u8 = 1;
/// Format byte of a prost message in two parts: the length of the first one (4 bytes, big-endian), the fields that
/// are not secret, and the encrypted fields.
const SEALED: u8 = 2;

/// Why a stored value cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// The format byte is missing or unknown.
    #[error("unknown value format {0:?}")]
    Format(Option<u8>),
    /// The message is malformed.
    #[error("malformed message")]
    Message(#[from] prost::DecodeError),
    /// JSON inside of the message is malformed.
    #[error("malformed JSON")]
    Json(#[from] serde_json::Error),
    /// The encrypted part cannot be decrypted.
    #[error(transparent)]
    Sealed(#[from] OpenError),
    /// The secret is not that of a signing key.
    #[error("not a signing key")]
    SigningKey,
}

/// Encodes `row`.
pub fn encode(row: &impl Message) -> Bytes {
    let mut bytes = BytesMut::with_capacity(1 + row.encoded_len());
    bytes.put_u8(PROST);
    row.encode(&mut bytes).expect("BytesMut grows");
    bytes.freeze()
}

/// Decodes the value of `key`, which has no encrypted part.
pub fn decode<M: Message + Default>(key: &[u8], bytes: &[u8]) -> Result<M, StoreError> {
    parse(bytes).map_err(|source| corrupt(key, source))
}

/// Encodes a row in two parts.
pub(super) fn encode_sealed(public: &[u8], sealed: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(5 + public.len() + sealed.len());
    bytes.put_u8(SEALED);
    bytes.put_u32(u32::try_from(public.len()).expect("a value is smaller than 4 GiB"));
    bytes.extend_from_slice(public);
    bytes.extend_from_slice(sealed);
    bytes.freeze()
}

/// A stored value without its format byte.
pub(super) enum Stored<'a> {
    /// The whole message.
    Plain(&'a [u8]),
    /// The fields that are not secret, and the encrypted ones.
    Sealed { public: &'a [u8], sealed: &'a [u8] },
}

/// Splits the value of `key` into its parts.
pub(super) fn stored<'a>(key: &[u8], bytes: &'a [u8]) -> Result<Stored<'a>, StoreError> {
    let parts = match bytes.split_first() {
        Some((&PROST, message)) => Some(Stored::Plain(message)),
        Some((&SEALED, parts)) => parts.split_first_chunk().and_then(|(length, parts)| {
            let (public, sealed) = parts.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
            Some(Stored::Sealed { public, sealed })
        }),
        _ => None,
    };
    parts.ok_or_else(|| corrupt(key, ValueError::Format(bytes.first().copied())))
}

/// Decodes the fields of the value of `key` that are not secret.
pub fn decode_public<M: Message + Default>(key: &[u8], bytes: &[u8]) -> Result<M, StoreError> {
    let (Stored::Plain(message) | Stored::Sealed { public: message, .. }) = stored(key, bytes)?;
    M::decode(message).map_err(|source| corrupt(key, source))
}

/// Creates the error for a value of `key` that cannot be read.
pub(super) fn corrupt(key: &[u8], source: impl Into<ValueError>) -> StoreError {
    StoreError::Corrupt { key: key.escape_ascii().to_string(), source: source.into() }
}

/// Decodes the value of `key` into a row whose byte fields share `bytes`.
pub fn decode_shared<M: Message + Default>(key: &[u8], bytes: &Bytes) -> Result<M, StoreError> {
    let parsed = match bytes.first() {
        Some(&PROST) => M::decode(bytes.slice(1..)).map_err(ValueError::from),
        other => Err(ValueError::Format(other.copied())),
    };
    parsed.map_err(|source| corrupt(key, source))
}

fn parse<M: Message + Default>(bytes: &[u8]) -> Result<M, ValueError> {
    match bytes.split_first() {
        Some((&PROST, message)) => Ok(M::decode(message)?),
        other => Err(ValueError::Format(other.map(|(byte, _)| *byte))),
    }
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::Format;

    use super::*;

    #[test]
    fn values_are_decoded_and_malformed_ones_are_reported_with_their_key() {
        let bytes = encode(&Format { level: 7 });
        assert_eq!(bytes[0], PROST);
        assert_eq!(decode::<Format>(b"m\0", &bytes).expect("own value").level, 7);
        for bad in [&b""[..], b"\x02\x08\x07", b"\x01\x08"] {
            let error = decode::<Format>(b"m\0format", bad).expect_err("foreign value");
            assert_eq!(error.to_string(), "the value under key m\\x00format cannot be read");
        }
    }
}
