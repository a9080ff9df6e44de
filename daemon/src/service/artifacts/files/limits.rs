//! Limits of the list of files of an upload, which is complete in memory when it is finalized, listed or downloaded.

use farrier_proto::store::Upload;

use super::super::rows;
use crate::{
    model::zip_records,
    service::Error,
    shares::{Refused, RequestMemory},
};

/// Most bytes of the paths of an upload. The path counts for each chunk, because each chunk records it.
const PATHS_MAX_BYTES: u64 = 8 << 20;
/// Largest directory of an archive within the limits of uploads, in bytes.
pub(super) const DIRECTORY_MAX_BYTES: u64 = PATHS_MAX_BYTES + rows::BLOCKS_MAX as u64 * zip_records::CENTRAL_MAX_BYTES;
/// Memory for the list of the chunks of an upload, in bytes: copies of each path, and the records of each chunk.
const COPIES_OF_PATHS: u64 = 4;
const CHUNK_BYTES: u64 = 512;

/// Returns the upload with one more chunk, or an error if that is over a limit.
pub(in super::super) fn count_chunk(upload: &Upload, path_bytes: u64) -> Result<Upload, Error> {
    let (chunks, path_bytes) = (upload.chunks + 1, upload.path_bytes.saturating_add(path_bytes));
    if chunks as usize > rows::BLOCKS_MAX {
        return Err(Error::invalid("artifact", format!("has more than {} chunks", rows::BLOCKS_MAX)));
    }
    if path_bytes > PATHS_MAX_BYTES {
        let reason = format!("the paths of its chunks have more than {PATHS_MAX_BYTES} bytes together");
        return Err(Error::invalid("artifact", reason));
    }
    Ok(Upload { chunks, path_bytes, ..upload.clone() })
}

/// Counts the list of the chunks of an upload to the memory of the request that finalizes it.
pub(super) fn count_chunk_list(memory: Option<&RequestMemory>, upload: &Upload) -> Result<(), Refused> {
    grow(memory, upload.path_bytes * COPIES_OF_PATHS + u64::from(upload.chunks) * CHUNK_BYTES)
}

/// Counts `bytes` to the memory of a request.
pub(super) fn grow(memory: Option<&RequestMemory>, bytes: u64) -> Result<(), Refused> {
    memory.map_or(Ok(()), |memory| memory.grow(usize::try_from(bytes).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_and_their_paths_are_limited() {
        let upload = |chunks, path_bytes| Upload { chunks, path_bytes, ..Upload::default() };
        let counted = count_chunk(&upload(3, 10), 4_096).expect("within the limits");
        assert_eq!((counted.chunks, counted.path_bytes), (4, 4_106));
        assert!(count_chunk(&upload(49_999, 0), 1).is_ok() && count_chunk(&upload(50_000, 0), 1).is_err());
        let full = PATHS_MAX_BYTES - 10;
        assert!(count_chunk(&upload(1, full), 10).is_ok() && count_chunk(&upload(1, full), 11).is_err());
    }
}
