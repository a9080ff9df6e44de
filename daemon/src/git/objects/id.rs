//! Ids of objects as bytes.

use std::fmt;

/// Length of a SHA-1 id, bytes.
pub(in crate::git) const SHA1_BYTES: usize = 20;
/// Length of a SHA-256 id, bytes.
pub(in crate::git) const SHA256_BYTES: usize = 32;

/// A full object id. Unused bytes of shorter ids are zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::git) struct ObjectId {
    bytes: [u8; SHA256_BYTES],
    length: u8,
}

impl ObjectId {
    /// Parses 40 or 64 hexadecimal digits.
    pub(in crate::git) fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; SHA256_BYTES];
        let length = match text.len() {
            40 => SHA1_BYTES,
            64 => SHA256_BYTES,
            _ => return None,
        };
        hex::decode_to_slice(text, &mut bytes[..length]).ok()?;
        Some(Self { bytes, length: u8::try_from(length).ok()? })
    }

    /// Returns the id in `raw`, which has 20 or 32 bytes.
    pub(in crate::git) fn from_raw(raw: &[u8]) -> Option<Self> {
        if !matches!(raw.len(), SHA1_BYTES | SHA256_BYTES) {
            return None;
        }
        let mut bytes = [0; SHA256_BYTES];
        bytes[..raw.len()].copy_from_slice(raw);
        Some(Self { bytes, length: u8::try_from(raw.len()).ok()? })
    }

    /// Returns the bytes.
    pub(in crate::git) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Returns the id in lower-case hexadecimal digits.
    pub(in crate::git) fn hex(&self) -> String {
        hex::encode(self.as_bytes())
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_parsed_in_both_lengths_and_any_case() {
        for text in ["ab".repeat(20), "0f".repeat(32)] {
            let id = ObjectId::parse(&text).expect("valid");
            assert_eq!((id.hex(), ObjectId::from_raw(id.as_bytes())), (text.clone(), Some(id)));
            assert_eq!(ObjectId::parse(&text.to_uppercase()), Some(id));
        }
        for bad in ["", "ab", &"ag".repeat(20), &"a".repeat(41)] {
            assert_eq!(ObjectId::parse(bad), None, "{bad}");
        }
        assert_eq!(ObjectId::from_raw(&[0; 19]), None);
    }
}
