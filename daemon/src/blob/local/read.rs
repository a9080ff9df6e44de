//! Reading ranges of blocks: one file open at a time, large buffers, one buffer ahead.
//!
//! A buffer is filled by one call to a blocking thread, from as many blocks as it takes, so that
//! thousands of tiny blocks cost thousands of opens but only a few changes of thread.

use std::{fs::File, io, ops::Range, sync::Arc};

use bytes::Bytes;
use futures_util::{StreamExt, future::BoxFuture, stream};
use rustix::{buffer::spare_capacity, fs::Advice};

use super::{BlobError, BlockReader, BlockRef, Disk, UploadKey};
use crate::tasks;

/// How much one call to a blocking thread does.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// A reader holds one buffer of this size and reads another ahead.
    pub(super) buffer_bytes: usize,
    /// Files from which one buffer is filled, so that no call takes long.
    pub(super) files_max: usize,
}

pub(super) const LIMITS: Limits = Limits { buffer_bytes: 512 * 1024, files_max: 512 };
/// Blocks from this size on are worth telling the kernel that they are read from front to back.
const ADVISE_BYTES_MIN: u64 = 1024 * 1024;

/// A reader of `range` in the concatenation of `blocks`.
pub(super) fn reader(
    disk: Arc<Disk>,
    key: UploadKey,
    blocks: Arc<[BlockRef]>,
    range: Range<u64>,
    limits: Limits,
) -> BlockReader {
    let size = blocks.iter().map(|block| block.size).sum();
    if range.start > range.end || range.end > size {
        let error = BlobError::Range { key, start: range.start, end: range.end, size };
        return BlockReader::new(stream::iter([Err(error)]).boxed(), 0);
    }
    let length = range.end - range.start;
    let (at, offset) = locate(&blocks, range.start);
    let cursor = Cursor { disk, key, blocks, limits, at, offset, open: None, left: length };
    let chunks = stream::unfold(Step::Begin(cursor), |step| async move {
        let filling = match step {
            Step::Begin(cursor) if cursor.left == 0 => return None,
            Step::Begin(cursor) => cursor.begin(),
            Step::Ahead(filling) => filling,
            Step::End => return None,
        };
        match filling.await {
            Ok((cursor, chunk)) if cursor.left == 0 => Some((Ok(chunk), Step::End)),
            Ok((cursor, chunk)) => Some((Ok(chunk), Step::Ahead(cursor.begin()))),
            Err(error) => Some((Err(error), Step::End)),
        }
    });
    BlockReader::new(chunks.boxed(), length)
}

type Filling = BoxFuture<'static, Result<(Cursor, Bytes), BlobError>>;

enum Step {
    Begin(Cursor),
    Ahead(Filling),
    End,
}

/// Where reading goes on.
struct Cursor {
    disk: Arc<Disk>,
    key: UploadKey,
    blocks: Arc<[BlockRef]>,
    limits: Limits,
    /// The block that is read, and the first byte of it that was not.
    at: usize,
    offset: u64,
    open: Option<File>,
    /// Bytes that are still wanted.
    left: u64,
}

impl Cursor {
    /// Fills the next buffer, beginning now.
    fn begin(mut self) -> Filling {
        Box::pin(tasks::begin(move || {
            let chunk = self.fill()?;
            Ok((self, chunk))
        }))
    }

    fn fill(&mut self) -> Result<Bytes, BlobError> {
        let size =
            usize::try_from(self.left).map_or(self.limits.buffer_bytes, |left| left.min(self.limits.buffer_bytes));
        let mut buffer = Vec::with_capacity(size);
        let mut files = 0;
        while buffer.len() < size && files < self.limits.files_max {
            let block = self.blocks[self.at];
            let checksums = (block.size - self.offset).min((size - buffer.len()) as u64);
            if checksums > 0 {
                self.read(block, checksums, &mut buffer)?;
                files += 1;
            }
            if self.offset == block.size {
                self.open = None;
                self.at += 1;
                self.offset = 0;
            }
        }
        self.left -= buffer.len() as u64;
        Ok(buffer.into())
    }

    /// Appends the next `checksums` bytes of `block` to `buffer`.
    fn read(&mut self, block: BlockRef, checksums: u64, buffer: &mut Vec<u8>) -> Result<(), BlobError> {
        let (key, failed) = (self.key, |source| BlobError::io("reading a block of", self.key)(source));
        let file = match self.open.take() {
            Some(file) => file,
            None => match File::open(self.disk.file(key, block.file)) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(BlobError::Missing { key, file: block.file });
                }
                Err(error) => return Err(failed(error)),
            },
        };
        if self.offset == 0 && block.size >= ADVISE_BYTES_MIN {
            // Advice only: whatever comes of it, the bytes are the same.
            let _ = rustix::fs::fadvise(&file, 0, None, Advice::Sequential);
        }
        let end = self.offset + checksums;
        while self.offset < end {
            let room = usize::try_from(end - self.offset).unwrap_or(usize::MAX);
            let before = buffer.len();
            // The spare capacity may be larger than asked for, and then more is read than wanted.
            let read = match rustix::io::pread(&file, spare_capacity(buffer), self.offset) {
                Ok(0) => {
                    return Err(BlobError::Short { key, file: block.file, size: block.size, have: self.offset });
                }
                Ok(read) => read.min(room),
                Err(rustix::io::Errno::INTR) => continue,
                Err(errno) => return Err(failed(errno.into())),
            };
            buffer.truncate(before + read);
            self.offset += read as u64;
        }
        self.open = Some(file);
        Ok(())
    }
}

/// The block that holds byte `start` of the concatenation, and where in it.
fn locate(blocks: &[BlockRef], start: u64) -> (usize, u64) {
    let mut before = 0;
    for (at, block) in blocks.iter().enumerate() {
        if start < before + block.size {
            return (at, start - before);
        }
        before += block.size;
    }
    (blocks.len(), 0)
}
