//! Checksums of a block, computed while it is written.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{RequestedChecksums, WrittenBlock, digest::Claim};

/// The requested checksums of the bytes so far.
#[derive(Default)]
pub(super) struct Checksums {
    md5: Option<md5::Md5>,
    crc64: Option<crc64fast_nvme::Digest>,
    sha256: Option<Sha256>,
    claim: Option<Claim>,
}

impl Checksums {
    /// Creates checksums of no bytes. `claim` is hashed as well.
    pub(super) fn new(requested: RequestedChecksums, claim: Option<Claim>) -> Self {
        Self {
            md5: requested.md5.then(md5::Md5::new),
            crc64: requested.crc64.then(crc64fast_nvme::Digest::new),
            sha256: requested.sha256.then(Sha256::new),
            claim,
        }
    }

    /// Adds bytes.
    pub(super) fn update(&mut self, bytes: &Bytes) {
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
        if let Some(crc64) = &mut self.crc64 {
            crc64.write(bytes);
        }
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
        if let Some(claim) = &mut self.claim {
            claim.update(bytes);
        }
    }

    /// Returns the result for a block of `size` bytes, all of which were added.
    pub(super) fn block(self, size: u64) -> WrittenBlock {
        WrittenBlock {
            size,
            md5: self.md5.map(|md5| md5.finalize().into()),
            crc64: self.crc64.map(|crc64| crc64.sum64()),
            sha256: self.sha256.map(|sha256| sha256.finalize().into()),
            claim: self.claim,
        }
    }
}
