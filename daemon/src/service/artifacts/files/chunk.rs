//! Receives chunks of files.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use md5::{Digest as _, Md5};

use super::{path_in_archive, trailer::Trailer};
use crate::{
    blob::UploadKey,
    model::secret,
    service::{
        Context, Error,
        artifacts::{BlockInput, ExpectedChecksums, MISSING, rows, upload},
        authentication::JobIdentity,
    },
    shares::Holder,
};

/// A chunk of a file.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The path as the client sends it.
    pub item: String,
    /// Offset of the first byte.
    pub start: u64,
    /// Number of bytes.
    pub length: u64,
    /// Size of the file as it is sent, bytes.
    pub total: u64,
    /// Whether the file is compressed with gzip.
    pub is_gzip: bool,
    /// Size of the file before compression, bytes.
    pub size: u64,
    /// MD5 of the chunk, if the client sent it.
    pub md5: Option<[u8; 16]>,
}

/// Receives a chunk of a file of an upload of `job`. It is durable when this returns. A chunk that is sent again
/// replaces the earlier one.
pub async fn receive<S, E>(
    context: &Context,
    job: &JobIdentity,
    key: UploadKey,
    chunk: Chunk,
    holder: Holder,
    body: S,
) -> Result<(), Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display + Send + 'static,
{
    let row = rows::get(&context.store.read().await?, key.artifact).await?;
    let row = row.filter(|row| row.run_id == job.run_id && row.job_id == job.job_id).ok_or(MISSING)?;
    let upload = row.upload.as_ref().filter(|upload| upload.generation == key.generation);
    upload.filter(|upload| upload.version == super::VERSION).ok_or(MISSING)?;
    let path = path_in_archive(&row.name, &chunk.item);
    let path = path.ok_or_else(|| Error::invalid("itemPath", "must be the path of a file below the artifact"))?;
    if chunk.start.checked_add(chunk.length).is_none_or(|end| end > chunk.total) {
        return Err(Error::invalid("Content-Range", "is beyond the end of the file"));
    }
    let block_id = block_id(&path, chunk.start);
    let length = chunk.length + Trailer::length(&path);
    let path_bytes = path.len() as u64;
    let trailer =
        Trailer { path, crc32: 0, is_gzip: chunk.is_gzip, start: chunk.start, total: chunk.total, size: chunk.size };
    let has_wrong_md5 = Arc::new(AtomicBool::new(false));
    let md5 = chunk.md5.map(|expected| ExpectedMd5 { md5: Md5::new(), expected, is_wrong: has_wrong_md5.clone() });
    let body = with_trailer(body, chunk.length, trailer, md5);
    let input = BlockInput { length, checks: ExpectedChecksums::default(), holder, body };
    match upload::put_chunk(context, key, &block_id, path_bytes, input).await {
        Err(Error::Body { .. }) if has_wrong_md5.load(Ordering::Relaxed) => {
            Err(Error::invalid("x-actions-results-md5", "does not match the received bytes"))
        }
        result => result,
    }
}

/// Returns the id of the block of a chunk. Paths can be longer than ids.
fn block_id(path: &str, start: u64) -> String {
    format!("{}-{start:020}", hex::encode(secret::sha256(path.as_bytes())))
}

/// Why a chunk was not received.
#[derive(Debug, thiserror::Error)]
enum ChunkError<E> {
    #[error("{0}")]
    Body(E),
    #[error("the MD5 does not match the received bytes")]
    Md5,
}

/// The MD5 that a client sent with a chunk.
struct ExpectedMd5 {
    /// The MD5 of the received bytes.
    md5: Md5,
    expected: [u8; 16],
    /// Set if the two differ.
    is_wrong: Arc<AtomicBool>,
}

impl ExpectedMd5 {
    /// Returns whether all received bytes have the expected MD5.
    fn matches(self) -> bool {
        let is_wrong = self.md5.finalize()[..] != self.expected;
        self.is_wrong.store(is_wrong, Ordering::Relaxed);
        !is_wrong
    }
}

struct Appending<S> {
    body: Pin<Box<S>>,
    crc32: crc32fast::Hasher,
    md5: Option<ExpectedMd5>,
    left: u64,
    trailer: Trailer,
    is_done: bool,
}

/// Returns a stream of the chunk and its trailer. It ends without the trailer if the body is too short. If the body is
/// too long, the stream is also longer than a chunk of `length` bytes.
fn with_trailer<S, E>(
    body: S,
    length: u64,
    trailer: Trailer,
    md5: Option<ExpectedMd5>,
) -> impl Stream<Item = Result<Bytes, ChunkError<E>>> + Send
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display + Send + 'static,
{
    let crc32 = crc32fast::Hasher::new();
    let state = Appending { body: Box::pin(body), crc32, md5, left: length, trailer, is_done: false };
    stream::unfold(state, async |mut state| {
        if state.is_done {
            return None;
        }
        let next = match state.body.next().await {
            Some(Ok(bytes)) => {
                state.left = state.left.saturating_sub(bytes.len() as u64);
                state.crc32.update(&bytes);
                if let Some(md5) = &mut state.md5 {
                    md5.md5.update(&bytes);
                }
                Ok(bytes)
            }
            Some(Err(error)) => Err(ChunkError::Body(error)),
            None if state.left > 0 => return None,
            None => {
                state.is_done = true;
                if state.md5.take().is_none_or(ExpectedMd5::matches) {
                    state.trailer.crc32 = state.crc32.clone().finalize();
                    Ok(Bytes::from(state.trailer.encode()))
                } else {
                    Err(ChunkError::Md5)
                }
            }
        };
        state.is_done |= next.is_err();
        Some((next, state))
    })
}
