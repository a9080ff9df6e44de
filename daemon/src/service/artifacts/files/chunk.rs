//! Receives chunks of files.

use std::pin::Pin;

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
    let trailer =
        Trailer { path, crc32: 0, is_gzip: chunk.is_gzip, start: chunk.start, total: chunk.total, size: chunk.size };
    let body = with_trailer(body, chunk.length, trailer, chunk.md5);
    let input = BlockInput { length, checks: ExpectedChecksums::default(), holder, body };
    upload::put_block(context, key, &block_id, input).await
}

/// Returns the id of the block of a chunk. Paths can be longer than ids.
fn block_id(path: &str, start: u64) -> String {
    format!("{}-{start:020}", hex::encode(secret::sha256(path.as_bytes())))
}

/// Why a chunk was not received.
#[derive(Debug, thiserror::Error)]
enum ChunkError {
    #[error("{0}")]
    Body(String),
    #[error("x-actions-results-md5 does not match the received bytes")]
    Md5,
}

struct Appending<S> {
    body: Pin<Box<S>>,
    crc32: crc32fast::Hasher,
    md5: Option<(Md5, [u8; 16])>,
    left: u64,
    trailer: Trailer,
    is_done: bool,
}

/// Returns a stream of the chunk and its trailer. It ends without the trailer if the body is too short.
fn with_trailer<S, E>(
    body: S,
    length: u64,
    trailer: Trailer,
    md5: Option<[u8; 16]>,
) -> impl Stream<Item = Result<Bytes, ChunkError>> + Send
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display + Send + 'static,
{
    let state = Appending {
        body: Box::pin(body),
        crc32: crc32fast::Hasher::new(),
        md5: md5.map(|expected| (Md5::new(), expected)),
        left: length,
        trailer,
        is_done: false,
    };
    stream::unfold(state, async |mut state| {
        if state.is_done {
            return None;
        }
        let next = match state.body.next().await {
            Some(Ok(bytes)) if bytes.len() as u64 <= state.left => {
                state.left -= bytes.len() as u64;
                state.crc32.update(&bytes);
                if let Some((md5, _)) = &mut state.md5 {
                    md5.update(&bytes);
                }
                Ok(bytes)
            }
            Some(Ok(_)) => Err(ChunkError::Body("the body is longer than announced in its header".into())),
            Some(Err(error)) => Err(ChunkError::Body(error.to_string())),
            None if state.left > 0 => Err(ChunkError::Body("the body is shorter than announced in its header".into())),
            None => {
                state.is_done = true;
                if state.md5.take().is_none_or(|(md5, expected)| md5.finalize()[..] == expected) {
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
