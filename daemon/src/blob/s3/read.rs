//! Reads ranges of blocks, from local copies or from the bucket.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, future, stream, stream::BoxStream};
use object_store::{Error, GetOptions, GetRange};

use super::{
    BlobError, BlockReader, BlockRef, Bucket, UploadKey,
    cache::{CachedBlock, NewCopy},
    unavailable,
};

/// Size of the pieces in which a copy is read, bytes.
const PIECE_BYTES: u64 = 512 * 1024;
const READING: &str = "reading a block of";

type Chunks = BoxStream<'static, Result<Bytes, BlobError>>;

/// Returns a reader of `range` in the concatenation of `blocks`. Requests the next block when the previous one was
/// read.
pub(super) fn reader(bucket: Arc<Bucket>, key: UploadKey, blocks: &[BlockRef], range: Range<u64>) -> BlockReader {
    let size = blocks.iter().map(|block| block.size).sum();
    if range.start > range.end || range.end > size {
        let error = BlobError::Range { key, start: range.start, end: range.end, size };
        return BlockReader::new(stream::iter([Err(error)]).boxed(), 0);
    }
    let length = range.end - range.start;
    let chunks = stream::iter(parts(blocks, &range))
        .then(move |(block, part)| open(bucket.clone(), key, block, part))
        .try_flatten()
        .try_filter(|chunk| future::ready(!chunk.is_empty()));
    // The stream ends after an error.
    let chunks = chunks.scan(false, |failed, chunk| {
        let ended = *failed;
        *failed |= chunk.is_err();
        future::ready((!ended).then_some(chunk))
    });
    BlockReader::new(chunks.boxed(), length)
}

/// Returns the blocks that contain bytes of `range`, each with the range of these bytes in the block.
fn parts(blocks: &[BlockRef], range: &Range<u64>) -> Vec<(BlockRef, Range<u64>)> {
    let mut before = 0;
    let mut parts = Vec::new();
    for block in blocks {
        let (start, end) = (range.start.max(before), range.end.min(before + block.size));
        if start < end {
            parts.push((*block, start - before..end - before));
        }
        before += block.size;
    }
    parts
}

/// Returns the bytes of `part` of a block.
async fn open(bucket: Arc<Bucket>, key: UploadKey, block: BlockRef, part: Range<u64>) -> Result<Chunks, BlobError> {
    if let Some(copy) = bucket.cache.get(key, block.file).await {
        return Ok(from_copy(copy, key, part));
    }
    let is_whole = part == (0..block.size);
    let range = (!is_whole).then(|| GetRange::Bounded(part.clone()));
    let object = bucket.object(key, block.file);
    let found = match bucket.objects.get_opts(&object, GetOptions { range, ..GetOptions::default() }).await {
        Ok(found) => found,
        Err(Error::NotFound { .. }) => return Err(BlobError::Missing { key, file: block.file }),
        Err(error) => return Err(unavailable(READING, key)(error)),
    };
    if found.meta.size < block.size {
        return Err(BlobError::Short { key, file: block.file, size: block.size, have: found.meta.size });
    }
    let chunks = found.into_stream().map_err(move |error| unavailable(READING, key)(error)).boxed();
    let copy = if is_whole { bucket.cache.begin(key, block).await } else { None };
    Ok(limited(chunks, key, block, part, copy))
}

/// What remains to be read of a block in the bucket.
struct UnreadPart {
    chunks: Chunks,
    key: UploadKey,
    block: BlockRef,
    /// The bytes that were not read yet.
    part: Range<u64>,
    copy: Option<NewCopy>,
}

/// Streams exactly the bytes of `part` from `chunks`, and writes them to `copy`. Fails if there are fewer bytes.
fn limited(chunks: Chunks, key: UploadKey, block: BlockRef, part: Range<u64>, copy: Option<NewCopy>) -> Chunks {
    let rest = UnreadPart { chunks, key, block, part, copy };
    let chunks = stream::try_unfold(rest, |mut rest| async move {
        if rest.part.is_empty() {
            return Ok(None);
        }
        let Some(mut chunk) = rest.chunks.try_next().await? else {
            let BlockRef { file, size } = rest.block;
            return Err(BlobError::Short { key: rest.key, file, size, have: rest.part.start });
        };
        let left = usize::try_from(rest.part.end - rest.part.start).unwrap_or(usize::MAX);
        chunk.truncate(left);
        rest.part.start += chunk.len() as u64;
        if let Some(copy) = rest.copy.take() {
            rest.copy = copy.write(chunk.clone()).await;
        }
        // Before the last bytes are returned: some readers do not ask for the end.
        if let Some(copy) = rest.copy.take_if(|_| rest.part.is_empty()) {
            copy.keep().await;
        }
        Ok(Some((chunk, rest)))
    });
    chunks.boxed()
}

/// Streams the bytes of `part` from a local copy.
fn from_copy(copy: CachedBlock, key: UploadKey, part: Range<u64>) -> Chunks {
    let chunks = stream::try_unfold((copy, part), move |(copy, mut part)| async move {
        let length = (part.end - part.start).min(PIECE_BYTES);
        if length == 0 {
            return Ok(None);
        }
        let length_of_piece = usize::try_from(length).unwrap_or(usize::MAX);
        let chunk = copy.read(part.start, length_of_piece).await.map_err(BlobError::io(READING, key))?;
        part.start += length;
        Ok(Some((chunk, (copy, part))))
    });
    chunks.boxed()
}
