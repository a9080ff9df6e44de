//! The bytes of artifacts: staging, reading, collecting.
//!
//! A block is written once, to a file of its own whose number is never used again, and a download
//! reads the blocks of a list in order; nothing is ever copied together. Whether a file *exists* is
//! decided by rows of the store and not here: a file counts once a row that names it is committed,
//! and any other file is waste for the sweep. This module knows neither rows nor HTTP, and nothing
//! that a client named reaches it: uploads and files are numbers.

pub mod digest;
mod error;
pub mod local;
mod reader;

use std::{fmt, ops::Range, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

pub use self::{error::BlobError, local::LocalBlobs, reader::BlockReader};
use crate::set_aside::SetAside;

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

/// One block: its file and how many bytes that holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockRef {
    /// The file's number, never used again within its upload.
    pub file: u64,
    /// Bytes.
    pub size: u64,
}

/// Which checksums to compute while a block is written: those that its client sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequestedChecksums {
    /// `Content-MD5`.
    pub md5: bool,
    /// `x-ms-content-crc64`.
    pub crc64: bool,
}

/// A block that is durable.
#[derive(Debug)]
pub struct Written {
    /// Bytes.
    pub size: u64,
    /// When wanted.
    pub md5: Option<[u8; 16]>,
    /// When wanted.
    pub crc64: Option<u64>,
    /// The claim that the writer was given, now with the block's bytes in it; it goes to
    /// [`digest::Digests::stored`] after the block's row is committed.
    pub claim: Option<digest::Claim>,
}

/// Room on the device that holds the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Space {
    /// Bytes that the daemon may still use.
    pub free_bytes: u64,
    /// Bytes of the whole device.
    pub total_bytes: u64,
}

/// Something that keeps blocks.
#[async_trait]
pub trait BlobStore: Send + Sync + 'static {
    /// A writer of one block. Nothing happens before its first bytes, so it cannot fail yet.
    fn create(
        &self,
        key: UploadKey,
        file: u64,
        checksums: RequestedChecksums,
        claim: Option<digest::Claim>,
    ) -> Box<dyn BlockWriter>;

    /// Reads the bytes of `range` in the concatenation of `blocks`, in order. A range that goes
    /// beyond them is an error of the first read.
    fn read(&self, key: UploadKey, blocks: Arc<[BlockRef]>, range: Range<u64>) -> BlockReader;

    /// Removes one block. That it is gone already is fine.
    async fn remove(&self, key: UploadKey, file: u64) -> Result<(), BlobError>;

    /// Removes all blocks of an upload, whether rows name them or not, and returns how many bytes they held.
    /// Succeeds if the upload is gone already.
    async fn remove_upload(&self, key: UploadKey) -> Result<u64, BlobError>;

    /// Moves all blocks of an upload to `set-aside/<date>/artifacts/<artifact>/<generation>` and returns
    /// their new path; `None` if nothing is stored. Nothing is deleted.
    async fn set_aside(&self, key: UploadKey, aside: &SetAside) -> Result<Option<PathBuf>, BlobError>;

    /// Streams every upload that has stored blocks, in no order: the sweep compares them with the rows.
    fn uploads(&self) -> BoxStream<'static, Result<UploadKey, BlobError>>;

    /// Streams every block of an upload, in no order. Blocks that are being written
    /// are among them, with the size that they have by now; so a sweep leaves alone the numbers
    /// that were handed out since the daemon started.
    fn files(&self, key: UploadKey) -> BoxStream<'static, Result<BlockRef, BlobError>>;

    /// Room on the device.
    async fn space(&self) -> Result<Space, BlobError>;
}

/// Writes one block. Dropped before [`BlockWriter::finish`] is through, it leaves nothing behind.
#[async_trait]
pub trait BlockWriter: Send {
    /// Takes the next bytes. They may be written later; a failure then comes with a later call.
    async fn write(&mut self, bytes: Bytes) -> Result<(), BlobError>;

    /// Returns when the block, and that it is there, would survive a power cut.
    async fn finish(self: Box<Self>) -> Result<Written, BlobError>;
}
