//! What can go wrong with blocks. Texts name operations and numbers, never paths.

use std::io;

use super::UploadKey;

/// Why an operation on blocks failed.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// No room is left on the device, or in the daemon's quota of it.
    #[error("no space left while {doing} {key}")]
    Full {
        /// What was being done.
        doing: &'static str,
        /// To what.
        key: UploadKey,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A block that a list names is not there.
    #[error("block {file} of {key} is missing")]
    Missing {
        /// Where it should be.
        key: UploadKey,
        /// Its number.
        file: u64,
    },
    /// A block is shorter than the list says.
    #[error("block {file} of {key} has {have} bytes and should have {size}")]
    Short {
        /// Where it is.
        key: UploadKey,
        /// Its number.
        file: u64,
        /// What it should have.
        size: u64,
        /// What it has.
        have: u64,
    },
    /// More was asked for than there is.
    #[error("bytes {start} to {end} were asked of {key}, which has {size}")]
    Range {
        /// Of what.
        key: UploadKey,
        /// The first byte asked for.
        start: u64,
        /// The byte after the last.
        end: u64,
        /// The bytes that there are.
        size: u64,
    },
    /// The system refused.
    #[error("{doing} {key} failed")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        key: UploadKey,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The system refused something that concerns all places.
    #[error("{doing} failed")]
    Root {
        /// What was being done.
        doing: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// An earlier call on the same writer failed.
    #[error("the block of {key} was given up before")]
    GivenUp {
        /// Where it was being written.
        key: UploadKey,
    },
    /// The daemon is stopping.
    #[error("the daemon stopped while hashing {key}")]
    Stopped {
        /// What was being hashed.
        key: UploadKey,
    },
}

impl BlobError {
    /// For `map_err`: tells a full device from everything else.
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
    fn a_full_device_is_told_from_other_refusals() {
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
