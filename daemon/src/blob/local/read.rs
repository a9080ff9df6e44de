//! Reads ranges of blocks with one open file, large buffers and one buffer of read-ahead.
//!
//! One call to a blocking thread fills a buffer from as many blocks as necessary. Reading thousands of tiny
//! blocks therefore needs thousands of opens but few thread switches.

use std::{fs::File, io, ops::Range, sync::Arc};

use bytes::Bytes;
use futures_util::{StreamExt, future::BoxFuture, stream};
use rustix::{buffer::spare_capacity, fs::Advice};

use super::{BlobError, BlockReader, BlockRef, Disk, UploadKey};
use crate::tasks;

/// Limits of one call to a blocking thread.
#[derive(Clone, Copy)]
pub(super) struct ReadLimits {
    /// Size of a buffer, bytes. A reader holds one buffer and reads another ahead.
    pub(super) buffer_bytes: usize,
    /// Most files read into one buffer, so that no call takes long.
    pub(super) files_max: usize,
}

pub(super) const READ_LIMITS: ReadLimits = ReadLimits { buffer_bytes: 512 * 1024, files_max: 512 };
/// Smallest block for which the kernel is advised of sequential reading, bytes.
const ADVISE_BYTES_MIN: u64 = 1024 * 1024;

/// Returns a reader of `range` in the concatenation of `blocks`.
pub(super) fn reader(
    disk: Arc<Disk>,
    key: UploadKey,
    blocks: Arc<[BlockRef]>,
    range: Range<u64>,
    limits: ReadLimits,
) -> BlockReader {
    let size = blocks.iter().map(|block| block.size).sum();
    if range.start > range.end || range.end > size {
        let error = BlobError::Range { key, start: range.start, end: range.end, size };
        return BlockReader::new(stream::iter([Err(error)]).boxed(), 0);
    }
    let length = range.end - range.start;
    let (index, offset) = locate(&blocks, range.start);
    let cursor = Cursor { disk, key, blocks, limits, index, offset, open: None, remaining: length };
    let chunks = stream::unfold(Step::Start(cursor), |step| async move {
        let filling = match step {
            Step::Start(cursor) if cursor.remaining == 0 => return None,
            Step::Start(cursor) => cursor.start_fill(),
            Step::Ahead(filling) => filling,
            Step::End => return None,
        };
        match filling.await {
            Ok((cursor, chunk)) if cursor.remaining == 0 => Some((Ok(chunk), Step::End)),
            Ok((cursor, chunk)) => Some((Ok(chunk), Step::Ahead(cursor.start_fill()))),
            Err(error) => Some((Err(error), Step::End)),
        }
    });
    BlockReader::new(chunks.boxed(), length)
}

type Filling = BoxFuture<'static, Result<(Cursor, Bytes), BlobError>>;

enum Step {
    Start(Cursor),
    Ahead(Filling),
    End,
}

/// The current position of a reader.
struct Cursor {
    disk: Arc<Disk>,
    key: UploadKey,
    blocks: Arc<[BlockRef]>,
    limits: ReadLimits,
    /// Index of the current block, and the offset of the next byte in it.
    index: usize,
    offset: u64,
    open: Option<File>,
    /// Bytes that remain to be read.
    remaining: u64,
}

impl Cursor {
    /// Starts to fill the next buffer.
    fn start_fill(mut self) -> Filling {
        Box::pin(tasks::begin(move || {
            let chunk = self.fill()?;
            Ok((self, chunk))
        }))
    }

    fn fill(&mut self) -> Result<Bytes, BlobError> {
        let size = usize::try_from(self.remaining)
            .map_or(self.limits.buffer_bytes, |remaining| remaining.min(self.limits.buffer_bytes));
        let mut buffer = Vec::with_capacity(size);
        let mut files = 0;
        while buffer.len() < size && files < self.limits.files_max {
            let block = self.blocks[self.index];
            let count = (block.size - self.offset).min((size - buffer.len()) as u64);
            if count > 0 {
                self.read(block, count, &mut buffer)?;
                files += 1;
            }
            if self.offset == block.size {
                self.open = None;
                self.index += 1;
                self.offset = 0;
            }
        }
        self.remaining -= buffer.len() as u64;
        Ok(buffer.into())
    }

    /// Appends the next `count` bytes of `block` to `buffer`.
    fn read(&mut self, block: BlockRef, count: u64, buffer: &mut Vec<u8>) -> Result<(), BlobError> {
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
            // This is only a hint. An error does not change the result.
            let _ = rustix::fs::fadvise(&file, 0, None, Advice::Sequential);
        }
        let end = self.offset + count;
        while self.offset < end {
            let room = usize::try_from(end - self.offset).unwrap_or(usize::MAX);
            let before = buffer.len();
            // The spare capacity may be larger than requested, so more bytes may be read than needed.
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

/// Returns the index of the block that contains byte `start` of the concatenation, and the offset in it.
fn locate(blocks: &[BlockRef], start: u64) -> (usize, u64) {
    let mut before = 0;
    for (index, block) in blocks.iter().enumerate() {
        if start < before + block.size {
            return (index, start - before);
        }
        before += block.size;
    }
    (blocks.len(), 0)
}
