//! Encodes and decodes stored values: one format byte and a prost message.
//!
//! The format byte allows another encoding later. In this encoding, fields are only added. See
//! `docs/storage.md`.

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;

use super::StoreError;

/// Level of the whole layout, stored under `m/format`.
pub const FORMAT_LEVEL: u32 = 1;

/// Format byte of a prost message of `store.proto`.
const PROST: u8 = 1;

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
}

/// Encodes `row`.
pub fn encode(row: &impl Message) -> Bytes {
    let mut bytes = BytesMut::with_capacity(1 + row.encoded_len());
    bytes.put_u8(PROST);
    row.encode(&mut bytes).expect("BytesMut grows");
    bytes.freeze()
}

/// Decodes the value of `key`.
pub fn decode<M: Message + Default>(key: &[u8], bytes: &[u8]) -> Result<M, StoreError> {
    parse(bytes).map_err(|source| StoreError::Corrupt { key: key.escape_ascii().to_string(), source })
}

/// Decodes the value of `key` into a row whose byte fields share `bytes`.
pub fn decode_shared<M: Message + Default>(key: &[u8], bytes: &Bytes) -> Result<M, StoreError> {
    let parsed = match bytes.first() {
        Some(&PROST) => M::decode(bytes.slice(1..)).map_err(ValueError::from),
        other => Err(ValueError::Format(other.copied())),
    };
    parsed.map_err(|source| StoreError::Corrupt { key: key.escape_ascii().to_string(), source })
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
