//! Stores, reads and removes the bytes of artifacts.
//!
//! Each block is written once to a file, or to an object in a bucket, with a number that is never reused. A download
//! reads the blocks of a list in order; blocks are not merged into one file. Rows of the store decide which files are
//! valid: a file belongs to an artifact when a row that names it is committed, and the sweep removes all other files.
//! This module uses neither rows nor HTTP. Uploads and files are identified by numbers, so names from clients cannot
//! become paths.

mod checksums;
mod copy_blocks;
pub mod digest;
mod error;
pub mod local;
mod reader;
pub mod s3;
mod verify;

use std::{fmt, ops::Range, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use rustix::fs::StatVfsMountFlags;

pub use self::{
    copy_blocks::{BlockCopyCounts, copy_blocks},
    error::{BlobError, BucketError},
    local::LocalBlobs,
    reader::BlockReader,
    s3::{PackFile, PackObject, PackObjects, S3Blobs, open_bucket},
};
use crate::{set_aside::SetAside, tasks};

/// Identifies one upload of an artifact. Its blocks are stored in one directory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct UploadKey {
    /// The artifact's id.
    pub artifact: u64,
    /// Counts the artifact's uploads.
    pub generation: u64,
}

impl fmt::Display for UploadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "artifact {} generation {}", self.artifact, self.generation)
    }
}

/// A block: its file and size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockRef {
    /// The file's number. It is never reused within the upload.
    pub file: u64,
    /// Size, bytes.
    pub size: u64,
}

/// Which checksums to compute while a block is written, by the thread that writes it: those that the client sent, and
/// those that the caller needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequestedChecksums {
    /// `Content-MD5`.
    pub md5: bool,
    /// `x-ms-content-crc64`.
    pub crc64: bool,
    /// The SHA-256.
    pub sha256: bool,
}

/// The result of writing a block. The block is durable.
#[derive(Debug)]
pub struct WrittenBlock {
    /// Size, bytes.
    pub size: u64,
    /// The MD5, if requested.
    pub md5: Option<[u8; 16]>,
    /// The CRC-64/NVME, if requested.
    pub crc64: Option<u64>,
    /// The SHA-256, if requested.
    pub sha256: Option<[u8; 32]>,
    /// The claim that the writer received, after all bytes of the block were hashed. Pass it to
    /// [`digest::Digests::stored`] after the block's row is committed.
    pub claim: Option<digest::Claim>,
}

/// Space on the device that holds the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Space {
    /// Bytes available to the daemon.
    pub free_bytes: u64,
    /// Total size of the device, bytes.
    pub total_bytes: u64,
    /// Whether the file system is mounted read-only. The kernel does that after some errors of the device.
    pub is_read_only: bool,
}

impl Space {
    /// The space of a storage that has no limit.
    pub const UNLIMITED: Self = Self { free_bytes: u64::MAX, total_bytes: u64::MAX, is_read_only: false };

    /// Returns the space on the device that holds `directory`.
    pub async fn of_directory(directory: PathBuf) -> Result<Self, BlobError> {
        let stat = tasks::blocking(move || rustix::fs::statvfs(&directory))
            .await
            .map_err(|errno| BlobError::Root { doing: "reading the free space", source: errno.into() })?;
        Ok(Self {
            free_bytes: stat.f_bavail * stat.f_frsize,
            total_bytes: stat.f_blocks * stat.f_frsize,
            is_read_only: stat.f_flag.contains(StatVfsMountFlags::RDONLY),
        })
    }
}

/// A request that the server of a storage has not answered, or has answered with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobFailure {
    /// Why it failed, without parts of the request.
    pub reason: String,
    /// How long ago it failed.
    pub age: Duration,
}

/// Storage for blocks.
#[async_trait]
pub trait BlobStore: Send + Sync + 'static {
    /// Returns a writer for one block. The file is created with the first bytes, so this cannot fail.
    fn create(
        &self,
        key: UploadKey,
        file: u64,
        checksums: RequestedChecksums,
        claim: Option<digest::Claim>,
    ) -> Box<dyn BlockWriter>;

    /// Reads the bytes of `range` in the concatenation of `blocks`, in order. If the range exceeds them, the
    /// first read fails.
    fn read(&self, key: UploadKey, blocks: Arc<[BlockRef]>, range: Range<u64>) -> BlockReader;

    /// Removes one block. Succeeds if it does not exist.
    async fn remove(&self, key: UploadKey, file: u64) -> Result<(), BlobError>;

    /// Removes all blocks of an upload, whether rows name them or not, and returns how many bytes they held.
    /// Succeeds if the upload is gone already.
    async fn remove_upload(&self, key: UploadKey) -> Result<u64, BlobError>;

    /// Moves all blocks of an upload to `set-aside/<date>/artifacts/<artifact>/<generation>`, in the data directory or
    /// in the bucket, and returns their new path; `None` if nothing is stored. Nothing is deleted.
    async fn set_aside(&self, key: UploadKey, aside: &SetAside) -> Result<Option<PathBuf>, BlobError>;

    /// Streams every upload that has stored blocks, in no particular order. The sweep compares them with the
    /// rows.
    fn uploads(&self) -> BoxStream<'static, Result<UploadKey, BlobError>>;

    /// Streams every block of an upload, in no particular order. Includes blocks that are being written, with
    /// their current size. A sweep must therefore ignore file numbers that were assigned since the daemon
    /// started.
    fn files(&self, key: UploadKey) -> BoxStream<'static, Result<BlockRef, BlobError>>;

    /// Returns the space on the device; [`Space::UNLIMITED`] if there is no limit.
    async fn space(&self) -> Result<Space, BlobError>;

    /// Returns whether the storage has answered the last request.
    fn is_reachable(&self) -> bool {
        true
    }

    /// Returns the last failure of the storage since the start, if it is a server.
    fn last_failure(&self) -> Option<BlobFailure> {
        None
    }

    /// Sends a request, so that [`BlobStore::is_reachable`] returns the present state.
    async fn probe(&self) {}

    /// Removes what writers of killed daemons left and what is older than `age` by the clock of the storage, other than
    /// blocks. Returns how many items. No acknowledged block is affected: what a writer has not finished is not a
    /// block.
    async fn remove_unfinished(&self, age: Duration) -> Result<usize, BlobError> {
        _ = age;
        Ok(0)
    }
}

/// Writes one block. If it is dropped before [`BlockWriter::finish`] completes, the block is removed.
#[async_trait]
pub trait BlockWriter: Send {
    /// Appends bytes and returns how many bytes of the block have been written so far. The rest is held in memory and
    /// written later; an error is then returned by a later call.
    async fn write(&mut self, bytes: Bytes) -> Result<u64, BlobError>;

    /// Returns when the block and its directory entry would survive a power failure.
    async fn finish(self: Box<Self>) -> Result<WrittenBlock, BlobError>;
}
