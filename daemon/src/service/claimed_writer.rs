//! Writes a block whose bytes are claimed on the disk.

use bytes::Bytes;

use super::{
    Context, Error,
    disk_space::{DiskSpace, SpaceClaim},
};
use crate::blob::{BlobError, BlockWriter, WrittenBlock};

/// A block writer with its claim of disk space. Bytes that the writer holds in memory stay claimed.
pub(super) struct ClaimedWriter {
    writer: Box<dyn BlockWriter>,
    claim: SpaceClaim,
    /// Bytes that were written to the disk.
    written: u64,
    /// What is being done, for errors.
    doing: &'static str,
}

impl ClaimedWriter {
    /// `doing`: what the caller does, for errors: "writing a block".
    pub(super) fn new(writer: Box<dyn BlockWriter>, claim: SpaceClaim, doing: &'static str) -> Self {
        Self { writer, claim, written: 0, doing }
    }

    /// Claims `bytes` bytes more. See [`DiskSpace::claim_for_upload`].
    pub(super) async fn claim(&mut self, context: &Context, bytes: u64) -> Result<(), Error> {
        self.claim.add(DiskSpace::claim_for_upload(context, bytes).await?);
        Ok(())
    }

    /// Appends bytes of an upload. Deletes cache entries if there is no space for them.
    pub(super) async fn write(&mut self, context: &Context, bytes: Bytes) -> Result<(), Error> {
        self.claim.prepare(context, bytes.len() as u64).await?;
        let written = self.writer.write(bytes).await.map_err(|source| failed(self.doing, source))?;
        self.claim.written(written - self.written);
        self.written = written;
        Ok(())
    }

    /// Returns when the block would survive a power failure.
    pub(super) async fn finish(self) -> Result<WrittenBlock, Error> {
        let Self { writer, claim, doing, .. } = self;
        let written = writer.finish().await.map_err(|source| failed(doing, source));
        // The last bytes are on the disk only now.
        drop(claim);
        written
    }
}

fn failed(doing: &'static str, source: BlobError) -> Error {
    match source {
        BlobError::Full { .. } => Error::NoSpace,
        BlobError::BlockTooLarge { limit, .. } => Error::TooLarge { limit },
        source => Error::Blob { doing, source },
    }
}
