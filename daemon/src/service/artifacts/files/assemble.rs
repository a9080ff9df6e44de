//! Writes the files of an upload into the zip archive that becomes the content of the artifact.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::Bytes;
use farrier_proto::store::{Artifact, Upload};
use futures_util::{Stream, StreamExt as _, stream};

use super::{
    limits,
    trailer::{self, Trailer},
};
use crate::{
    blob::{BlobError, BlockRef, UploadKey},
    model::zip_records::{self, Method, ZipFile},
    service::{
        Context, Error,
        artifacts::{BlockInput, ExpectedChecksums, Finalize, MISSING, finalize as artifact, rows, upload},
        authentication::JobIdentity,
    },
    shares::{Holder, RequestMemory},
};

/// Longest header of a gzip stream, in bytes. Those of clients have 10.
const GZIP_HEADER_MAX: u64 = 4 << 10;
/// CRC-32 and size at the end of a gzip stream, in bytes.
const GZIP_TRAILER: u64 = 8;

/// Finalizes the upload `name` of `job` and returns the id of the artifact. Repeated calls return the same result.
///
/// `memory`: of the request, to which the list of files is counted.
pub async fn finalize(
    context: &Context,
    job: &JobIdentity,
    name: &str,
    holder: Holder,
    memory: Option<&RequestMemory>,
) -> Result<u64, Error> {
    let id = find(context, job, name).await?.id;
    // Writing a large archive takes longer than clients wait. They repeat the request while the first call runs.
    let _lock = context.finalizing.lock(id).await;
    let row = find(context, job, name).await?;
    let size = match (&row.upload, &row.content) {
        (Some(upload), _) if upload.version == super::VERSION => write(context, row.id, upload, holder, memory).await?,
        (None, Some(content)) if content.version == super::VERSION => content.size,
        _ => return Err(MISSING),
    };
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    artifact::finalize(context, job, Finalize { name: name.to_owned(), size, hash: None }).await
}

async fn find(context: &Context, job: &JobIdentity, name: &str) -> Result<Artifact, Error> {
    let row = rows::by_name(&context.store.read().await?, job.run_id, job.job_id, name).await?;
    row.ok_or(MISSING)
}

/// Writes the archive and commits it. Returns its size.
async fn write(
    context: &Context,
    artifact: u64,
    upload: &Upload,
    holder: Holder,
    memory: Option<&RequestMemory>,
) -> Result<u64, Error> {
    let _share = context.work.uploads.take(holder)?;
    limits::count_chunk_list(memory, upload)?;
    let key = UploadKey { artifact, generation: upload.generation };
    let files = staged_files(context, key).await?;
    let mut parts = Vec::with_capacity(files.len() * 2 + 1);
    let (mut offset, mut directory) = (0, Vec::new());
    for staged in &files {
        let (file, bytes) = zip_file(context, key, staged, offset).await?;
        let header = file.local_header();
        offset += header.len() as u64 + file.stored;
        parts.push(Part::Bytes(header.into()));
        parts.extend(staged.parts(bytes));
        directory.extend(file.directory_record());
    }
    let end = zip_records::end(files.len() as u64, offset, directory.len() as u64);
    let length = offset + (directory.len() + end.len()) as u64;
    parts.extend([Part::Bytes(directory.into()), Part::Bytes(end.into())]);
    let checks = ExpectedChecksums::default();
    let input = BlockInput { length, checks, holder, body: stream_of(context.clone(), key, parts) };
    upload::put_content(context, key, input).await?;
    Ok(length)
}

/// A chunk in its block.
#[derive(Clone, Copy, Debug)]
struct StagedChunk {
    block: BlockRef,
    start: u64,
    length: u64,
    crc32: u32,
}

/// A file whose chunks were received.
#[derive(Clone, Debug)]
struct StagedFile {
    path: String,
    is_gzip: bool,
    total: u64,
    size: u64,
    chunks: Vec<StagedChunk>,
}

/// Bytes of the archive.
enum Part {
    Bytes(Bytes),
    /// A range of a block.
    Block(BlockRef, Range<u64>),
}

impl StagedFile {
    /// Returns the bytes `range` of the file.
    fn parts(&self, range: Range<u64>) -> impl Iterator<Item = Part> {
        self.chunks.iter().filter_map(move |chunk| {
            let start = range.start.max(chunk.start);
            let end = range.end.min(chunk.start + chunk.length);
            (start < end).then(|| Part::Block(chunk.block, start - chunk.start..end - chunk.start))
        })
    }

    /// Returns whether the chunks are the complete file.
    fn is_complete(&self) -> bool {
        let mut end = 0;
        for chunk in &self.chunks {
            if chunk.start != end {
                break;
            }
            end += chunk.length;
        }
        end == self.total && self.chunks.last().is_none_or(|last| last.start + last.length == end)
    }

    /// Returns the CRC-32 of the file as it was sent.
    fn crc32(&self) -> u32 {
        let mut all = crc32fast::Hasher::new();
        for chunk in &self.chunks {
            all.combine(&crc32fast::Hasher::new_with_initial_len(chunk.crc32, chunk.length));
        }
        all.finalize()
    }
}

/// Returns the completely uploaded files in the order of their paths.
///
/// A client may give up a file after some of its chunks, and then finalize the artifact with the other files.
async fn staged_files(context: &Context, key: UploadKey) -> Result<Vec<StagedFile>, Error> {
    let snapshot = context.store.read().await?;
    // With the archive of an earlier call, and one more to notice that there are too many.
    let ids = rows::block_ids(&snapshot, key.artifact, key.generation, rows::BLOCKS_MAX + 2).await?;
    let ids = chunk_ids(ids)?;
    let blocks = rows::blocks(&snapshot, key.artifact, key.generation, &ids).await?;
    drop(snapshot);
    let mut files: BTreeMap<String, StagedFile> = BTreeMap::new();
    for block in blocks {
        let Some(block) = block.map(|block| BlockRef { file: block.file, size: block.size }) else { continue };
        let last = read(context, key, [Part::Block(block, block.size.saturating_sub(trailer::MAX_BYTES)..block.size)]);
        let Some(trailer) = Trailer::decode(&last.await?) else { continue };
        let Trailer { path, crc32, is_gzip, start, total, size } = trailer;
        let length = block.size.saturating_sub(Trailer::length(&path));
        // The daemon wrote the trailer after it had checked this.
        if !super::is_path_in_archive(&path) || start.checked_add(length).is_none_or(|end| end > total) {
            return Err(Error::invalid("artifact", "has a chunk that is not a part of a file"));
        }
        let file = files.entry(path.clone());
        let file = file.or_insert_with(|| StagedFile { path, is_gzip, total, size, chunks: Vec::new() });
        if (file.is_gzip, file.total) != (is_gzip, total) {
            let reason = format!("the chunks of {} belong to different files", file.path);
            return Err(Error::invalid("artifact", reason));
        }
        file.chunks.push(StagedChunk { block, start, length, crc32 });
    }
    let mut files: Vec<StagedFile> = files.into_values().collect();
    for file in &mut files {
        file.chunks.sort_unstable_by_key(|chunk| chunk.start);
    }
    let received = files.len();
    files.retain(StagedFile::is_complete);
    let incomplete = received - files.len();
    if incomplete > 0 && files.is_empty() {
        return Err(Error::invalid("artifact", "no file was uploaded completely"));
    }
    if incomplete > 0 {
        let artifact = key.artifact;
        tracing::warn!(artifact, files = incomplete, "files without all of their chunks are not in the artifact");
    }
    Ok(files)
}

/// Returns the ids of chunks. The block without an id is the archive of an earlier call.
fn chunk_ids(mut ids: Vec<String>) -> Result<Vec<String>, Error> {
    ids.retain(|id| !id.is_empty());
    if ids.len() > rows::BLOCKS_MAX {
        return Err(Error::invalid("artifact", format!("has more than {} chunks", rows::BLOCKS_MAX)));
    }
    Ok(ids)
}

/// Returns the file for the archive, and which bytes of the upload it stores.
async fn zip_file(
    context: &Context,
    key: UploadKey,
    staged: &StagedFile,
    offset: u64,
) -> Result<(ZipFile, Range<u64>), Error> {
    let path = staged.path.clone();
    if !staged.is_gzip {
        let (crc32, size) = (staged.crc32(), staged.total);
        return Ok((ZipFile { path, method: Method::Stored, crc32, stored: size, size, offset }, 0..size));
    }
    let damaged = || Error::invalid("artifact", format!("the file {} is not in the format of gzip", staged.path));
    let trailer_start = staged.total.checked_sub(GZIP_TRAILER).ok_or_else(damaged)?;
    let head = read(context, key, staged.parts(0..staged.total.min(GZIP_HEADER_MAX))).await?;
    let header = gzip_header(&head).map(|length| length as u64);
    let header = header.filter(|header| *header <= trailer_start).ok_or_else(damaged)?;
    let last = read(context, key, staged.parts(trailer_start..staged.total)).await?;
    let (crc32, low_size) = last.split_at_checked(4).ok_or_else(damaged)?;
    let number = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).map_err(|_| damaged());
    let (crc32, low_size) = (number(crc32)?, number(low_size)?);
    if staged.size & 0xffff_ffff != u64::from(low_size) {
        return Err(damaged());
    }
    let stored = trailer_start - header;
    let file = ZipFile { path, method: Method::Deflated, crc32, stored, size: staged.size, offset };
    Ok((file, header..trailer_start))
}

/// Returns the length of the header of a gzip stream (RFC 1952).
fn gzip_header(bytes: &[u8]) -> Option<usize> {
    const EXTRA: u8 = 4;
    const TEXTS: [u8; 2] = [8, 16];
    const CHECKSUM: u8 = 2;
    let [0x1f, 0x8b, 8, flags, ..] = bytes else { return None };
    let mut length = 10;
    if flags & EXTRA != 0 {
        let extra = bytes.get(length..length + 2)?;
        length += 2 + usize::from(u16::from_le_bytes([extra[0], extra[1]]));
    }
    for _ in TEXTS.iter().filter(|text| flags & **text != 0) {
        length += bytes.get(length..)?.iter().position(|byte| *byte == 0)? + 1;
    }
    if flags & CHECKSUM != 0 {
        length += 2;
    }
    (length <= bytes.len()).then_some(length)
}

fn stream_of(
    context: Context,
    key: UploadKey,
    parts: Vec<Part>,
) -> impl Stream<Item = Result<Bytes, BlobError>> + Send {
    stream::iter(parts).flat_map(move |part| match part {
        Part::Bytes(bytes) => stream::once(std::future::ready(Ok(bytes))).boxed(),
        Part::Block(block, range) => context.blobs.read(key, Arc::from([block]), range).boxed(),
    })
}

/// Reads a few bytes.
async fn read(context: &Context, key: UploadKey, parts: impl IntoIterator<Item = Part>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let mut stream = std::pin::pin!(stream_of(context.clone(), key, parts.into_iter().collect()));
    while let Some(next) = stream.next().await {
        bytes.extend_from_slice(&next.map_err(|source| Error::Blob { doing: "reading a chunk", source })?);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_gzip_streams_have_optional_fields() {
        let header = |flags: u8, rest: &[u8]| gzip_header(&[&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3], rest].concat());
        assert_eq!(header(0, b"data"), Some(10));
        assert_eq!(header(8, b"name\0data"), Some(15));
        assert_eq!(header(4 | 8 | 16 | 2, b"\x02\0xxn\0c\0\x01\x02data"), Some(20));
        assert_eq!(header(8, b"name without end"), None);
        assert_eq!(gzip_header(b"PK\x03\x04"), None);
        assert_eq!(gzip_header(b""), None);
    }

    #[test]
    fn the_archive_of_an_earlier_call_is_no_chunk() {
        let ids = |count: usize| std::iter::once(String::new()).chain((0..count).map(|id| id.to_string())).collect();
        assert_eq!(chunk_ids(ids(rows::BLOCKS_MAX)).map(|ids| ids.len()).ok(), Some(rows::BLOCKS_MAX));
        assert!(chunk_ids(ids(rows::BLOCKS_MAX + 1)).is_err());
    }

    #[test]
    fn all_chunks_of_a_file_are_required() {
        let file = |chunks: &[(u64, u64)]| StagedFile {
            path: "x".into(),
            is_gzip: false,
            total: 10,
            size: 10,
            chunks: chunks
                .iter()
                .map(|&(start, length)| StagedChunk { block: BlockRef { file: 1, size: 0 }, start, length, crc32: 0 })
                .collect(),
        };
        assert!(file(&[(0, 10)]).is_complete() && file(&[(0, 4), (4, 6)]).is_complete());
        for wrong in [&[(0, 4)][..], &[(4, 6)], &[(0, 4), (5, 5)], &[(0, 6), (4, 6)], &[(0, 10), (10, 1)]] {
            assert!(!file(wrong).is_complete(), "{wrong:?}");
        }
    }
}
