//! Errors of block storage. Messages contain operations and numbers, never paths.

use std::io;

use super::{PackObject, UploadKey};

/// An error of an operation on blocks.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The device is full, or the daemon's quota is used up.
    #[error("no space left while {doing} {key}")]
    Full {
        /// The operation.
        doing: &'static str,
        /// The upload.
        key: UploadKey,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A block in the list does not exist.
    #[error("block {file} of {key} is missing")]
    Missing {
        /// The upload.
        key: UploadKey,
        /// Number of the block's file.
        file: u64,
    },
    /// A block's file is shorter than recorded.
    #[error("block {file} of {key} has {have} bytes and should have {size}")]
    Short {
        /// The upload.
        key: UploadKey,
        /// Number of the block's file.
        file: u64,
        /// Recorded size, bytes.
        size: u64,
        /// Actual size, bytes.
        have: u64,
    },
    /// The bytes do not have the recorded SHA-256.
    #[error("the content of {key} is damaged: its SHA-256 is not the recorded one")]
    Digest {
        /// The upload.
        key: UploadKey,
    },
    /// An object of a pack does not exist in the bucket.
    #[error("the pack {} of repository {} is missing in the bucket", pack.name, pack.repository)]
    PackMissing {
        /// The pack.
        pack: PackObject,
    },
    /// The store has no row with the files of a small pack.
    #[error("the row with the files of the pack {name} of repository {repository} is missing; run farrierd check-data")]
    PackRowMissing {
        /// The repository.
        repository: u64,
        /// The name of the pack.
        name: String,
    },
    /// A range exceeds the content.
    #[error("bytes {start} to {end} of {key} were requested, but it has {size}")]
    Range {
        /// The upload.
        key: UploadKey,
        /// Offset of the first requested byte.
        start: u64,
        /// Offset after the last requested byte.
        end: u64,
        /// Size of the content, bytes.
        size: u64,
    },
    /// An I/O error.
    #[error("{doing} {key} failed")]
    Io {
        /// The operation.
        doing: &'static str,
        /// The upload.
        key: UploadKey,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// An I/O error that does not concern a single upload.
    #[error("{doing} failed")]
    Root {
        /// The operation.
        doing: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The bucket did not do what was asked for. Whether a change took effect is unknown.
    #[error("{doing} {key} failed: the bucket is not available")]
    Unavailable {
        /// The operation.
        doing: &'static str,
        /// The upload.
        key: UploadKey,
        /// The cause.
        #[source]
        source: BucketError,
    },
    /// The bucket did not do what was asked for, in an operation that does not concern a single upload.
    #[error("{doing} failed: the bucket is not available")]
    BucketUnavailable {
        /// The operation.
        doing: &'static str,
        /// The cause.
        #[source]
        source: BucketError,
    },
    /// The bucket, or its settings, cannot be used.
    #[error("the bucket {bucket} cannot be used: {reason}")]
    Bucket {
        /// URL of the bucket, with the prefix.
        bucket: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A block is larger than one object of a bucket can be.
    #[error("a block of {key} has more than {limit} bytes, the limit of a bucket")]
    BlockTooLarge {
        /// The upload.
        key: UploadKey,
        /// The limit, bytes.
        limit: u64,
    },
    /// An earlier call on the same writer failed.
    #[error("an earlier write of a block of {key} failed")]
    WriterFailed {
        /// The upload.
        key: UploadKey,
    },
    /// The daemon is stopping.
    #[error("the daemon stopped while hashing {key}")]
    Stopped {
        /// The upload.
        key: UploadKey,
    },
}

/// Why a request to a bucket failed. The text has no secrets.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BucketError(pub(super) String);

impl BlobError {
    /// Returns a closure for `map_err` that maps a full device to [`BlobError::Full`] and other errors to
    /// [`BlobError::Io`].
    pub(super) fn io(doing: &'static str, key: UploadKey) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { doing, key, source },
            _ => Self::Io { doing, key, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_full_device_is_distinguished_from_other_errors() {
        let key = UploadKey { artifact: 7, generation: 2 };
        for (errno, full) in [
            (Errno::NOSPC, true),
            (Errno::DQUOT, true),
            (Errno::IO, false),
            (Errno::ROFS, false),
            (Errno::ACCESS, false),
            (Errno::FBIG, false),
        ] {
            let error = BlobError::io("writing", key)(errno.into());
            assert_eq!(matches!(error, BlobError::Full { .. }), full, "{errno:?}");
            assert!(error.source().is_some(), "{errno:?}");
            assert!(error.to_string().contains("writing artifact 7 generation 2"), "{error}");
        }
    }
}
