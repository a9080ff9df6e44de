//! Finds the end of a pack in a stream.
//!
//! Over SSH, a client may keep its side of the channel open after the pack, and waits for the report. A pack ends with
//! the digest of everything before it, so its end is where that digest is correct.

use crate::git::PackHasher;

/// Shortest pack without its digest: the header.
const HEADER_BYTES: usize = 12;

/// The state of the search.
pub(super) struct PackEnd {
    hasher: PackHasher,
    digest_bytes: usize,
    digested: usize,
    /// The last bytes, which may be the digest.
    tail: Vec<u8>,
}

impl PackEnd {
    /// Starts a search at the begin of a pack. `sha256`: the object format of the repository.
    pub(super) fn new(sha256: bool) -> Self {
        let digest_bytes = PackHasher::digest_bytes(sha256);
        Self { hasher: PackHasher::new(sha256), digest_bytes, digested: 0, tail: Vec::with_capacity(2 * digest_bytes) }
    }

    /// Returns whether the pack ends with `bytes`.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> bool {
        let length = self.digest_bytes;
        let surplus = (self.tail.len() + bytes.len()).saturating_sub(length);
        let from_tail = surplus.min(self.tail.len());
        let from_bytes = surplus - from_tail;
        self.hasher.update(&self.tail[..from_tail]);
        self.tail.drain(..from_tail);
        self.hasher.update(&bytes[..from_bytes]);
        self.tail.extend_from_slice(&bytes[from_bytes..]);
        self.digested += surplus;
        self.digested >= HEADER_BYTES && self.tail.len() == length && self.hasher.clone().finish() == self.tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(sha256: bool, length: usize) -> Vec<u8> {
        let mut pack: Vec<u8> = b"PACK".iter().copied().chain((0..length).map(|n| n.to_le_bytes()[0])).collect();
        let end = PackHasher::digest(sha256, &pack);
        pack.extend_from_slice(&end);
        pack
    }

    #[test]
    fn the_end_is_found_however_the_pack_is_divided() {
        for sha256 in [false, true] {
            for length in [8, 9, 40, 5_000] {
                let pack = pack(sha256, length);
                for step in [1, 7, 19, 20, 21, 33, 4_096, 10_000] {
                    let mut search = PackEnd::new(sha256);
                    let mut chunks = pack.chunks(step).peekable();
                    while let Some(chunk) = chunks.next() {
                        assert_eq!(search.advance(chunk), chunks.peek().is_none(), "{sha256} {length} {step}");
                    }
                }
                let mut damaged = pack.clone();
                damaged[5] ^= 1;
                assert!(!PackEnd::new(sha256).advance(&damaged));
            }
        }
    }
}
