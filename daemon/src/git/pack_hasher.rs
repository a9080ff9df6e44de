//! Computes the digest with which git ends packs and indexes.

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// Computes a digest with the hash function of an object format. It uses the instructions of the processor for both
/// functions; `ring` uses them only for SHA-256.
#[derive(Clone, Debug)]
pub enum PackHasher {
    /// For repositories with SHA-1.
    Sha1(Sha1),
    /// For repositories with SHA-256.
    Sha256(Sha256),
}

impl PackHasher {
    /// Starts without input. `sha256`: the object format of the repository.
    pub fn new(sha256: bool) -> Self {
        if sha256 { Self::Sha256(Sha256::new()) } else { Self::Sha1(Sha1::new()) }
    }

    /// Returns the length of digests in bytes.
    pub fn digest_bytes(sha256: bool) -> usize {
        if sha256 { Sha256::output_size() } else { Sha1::output_size() }
    }

    /// Adds input.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hasher) => hasher.update(bytes),
            Self::Sha256(hasher) => hasher.update(bytes),
        }
    }

    /// Returns the digest of all input.
    pub fn finish(self) -> Vec<u8> {
        match self {
            Self::Sha1(hasher) => hasher.finalize().to_vec(),
            Self::Sha256(hasher) => hasher.finalize().to_vec(),
        }
    }

    /// Returns the digest of `bytes`.
    pub fn digest(sha256: bool, bytes: &[u8]) -> Vec<u8> {
        let mut hasher = Self::new(sha256);
        hasher.update(bytes);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_object_format() {
        // The examples of FIPS 180 for "abc".
        for (sha256, expected) in [
            (false, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (true, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ] {
            let mut hasher = PackHasher::new(sha256);
            hasher.update(b"a");
            hasher.update(b"bc");
            assert_eq!(hex::encode(hasher.finish()), expected);
            assert_eq!(PackHasher::digest_bytes(sha256) * 2, expected.len());
        }
    }
}
