//! What a block records about its chunk, after the bytes of the chunk.

/// Bytes of the fields after the path.
const FIXED_BYTES: usize = 4 + 1 + 8 + 8 + 8 + 4;
/// Longest trailer, in bytes: the path has a limit.
pub(super) const MAX_BYTES: u64 = 8 << 10;

/// The position of a chunk in its file, and its checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    /// Path of the file in the archive.
    pub(super) path: String,
    /// CRC-32 of the chunk.
    pub(super) crc32: u32,
    /// Whether the file is compressed with gzip.
    pub(super) is_gzip: bool,
    /// Offset of the chunk.
    pub(super) start: u64,
    /// Size of the file as it is sent, bytes.
    pub(super) total: u64,
    /// Size of the file before compression, bytes.
    pub(super) size: u64,
}

impl Trailer {
    /// Returns the number of bytes of the trailer of a file with this path.
    pub(super) fn length(path: &str) -> u64 {
        (path.len() + FIXED_BYTES) as u64
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.path.clone().into_bytes();
        bytes.extend(self.crc32.to_le_bytes());
        bytes.push(u8::from(self.is_gzip));
        for value in [self.start, self.total, self.size] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(u32::try_from(self.path.len()).unwrap_or_default().to_le_bytes());
        bytes
    }

    /// Reads the trailer at the end of `last`, the last bytes of a block.
    pub(super) fn decode(last: &[u8]) -> Option<Self> {
        let fixed = last.get(last.len().checked_sub(FIXED_BYTES)?..)?;
        let number = |at: usize| Some(u64::from_le_bytes(fixed.get(at..at + 8)?.try_into().ok()?));
        let path_len = u32::from_le_bytes(fixed.get(29..)?.try_into().ok()?);
        let path_end = last.len() - FIXED_BYTES;
        let path = last.get(path_end.checked_sub(usize::try_from(path_len).ok()?)?..path_end)?;
        Some(Self {
            path: String::from_utf8(path.to_vec()).ok()?,
            crc32: u32::from_le_bytes(fixed.get(..4)?.try_into().ok()?),
            is_gzip: fixed.get(4) == Some(&1),
            start: number(5)?,
            total: number(13)?,
            size: number(21)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_is_read_from_the_end_of_a_block() {
        let trailer = Trailer { path: "d/ä".into(), crc32: 7, is_gzip: true, start: 8, total: 20, size: 99 };
        let bytes = trailer.encode();
        assert_eq!(bytes.len() as u64, Trailer::length(&trailer.path));
        assert_eq!(Trailer::decode(&[b"content", bytes.as_slice()].concat()), Some(trailer));
        assert_eq!(Trailer::decode(&bytes[1..]), None);
        assert_eq!(Trailer::decode(b""), None);
    }
}
