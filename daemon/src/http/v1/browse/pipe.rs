//! Streams the output of a git process as a response body.
//!
//! The body owns the process: when the client disconnects, the body is dropped and the process is killed. If the
//! process fails, the connection is closed before the end of the body, so that the client notices missing bytes.

use std::{io, io::Write as _, time::Duration};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use flate2::{Compression, GzBuilder, write::GzEncoder};
use futures_util::stream::unfold;
use tokio::io::AsyncReadExt as _;

use crate::{git::GitProcess, shares::Share, tasks};

/// Largest chunk, in bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes per compression step. Fixed, so that the bytes of an archive do not depend on the timing of reads.
const GZIP_CHUNK_BYTES: usize = 256 << 10;
/// Fixed, so that the bytes of an archive do not change.
const GZIP_LEVEL: u32 = 6;

/// A git process whose output becomes a body.
pub(super) struct Pipe {
    process: Option<GitProcess>,
    /// Bytes to send before the next read.
    buffered: Bytes,
    /// Bytes to discard at the start of the output.
    skip: u64,
    /// Maximum number of bytes to send.
    remaining: u64,
    /// Time without output after which the process is killed.
    idle_timeout: Duration,
    share: Option<Share>,
}

impl Pipe {
    /// Creates a pipe for the complete output of `process`.
    pub(super) fn new(process: GitProcess, idle_timeout: Duration) -> Self {
        let buffered = Bytes::new();
        Self { process: Some(process), buffered, skip: 0, remaining: u64::MAX, idle_timeout, share: None }
    }

    /// Creates a pipe for bytes that are in memory already.
    pub(super) fn of_bytes(bytes: Bytes) -> Self {
        let (skip, remaining) = (0, u64::MAX);
        Self { process: None, buffered: bytes, skip, remaining, idle_timeout: Duration::ZERO, share: None }
    }

    /// Holds `share` until the process has ended.
    pub(super) fn holding(self, share: Share) -> Self {
        Self { share: Some(share), ..self }
    }

    /// Sends `bytes` first.
    pub(super) fn after(self, bytes: impl Into<Bytes>) -> Self {
        Self { buffered: bytes.into(), ..self }
    }

    /// Sends only the bytes in `range`.
    pub(super) fn part(self, range: &std::ops::Range<u64>) -> Self {
        Self { skip: range.start, remaining: range.end - range.start, ..self }
    }

    /// Returns the first chunk of the output without consuming it.
    pub(super) async fn peek(&mut self) -> io::Result<&[u8]> {
        if self.buffered.is_empty() {
            self.buffered = self.read(CHUNK_BYTES).await?;
        }
        Ok(&self.buffered)
    }

    /// Reads the next bytes of the process. Empty when it has ended with status 0.
    async fn read(&mut self, limit: usize) -> io::Result<Bytes> {
        let Some(process) = &mut self.process else { return Ok(Bytes::new()) };
        let mut buffer = BytesMut::with_capacity(limit);
        while buffer.len() < limit {
            let read = tokio::time::timeout(self.idle_timeout, process.read_buf(&mut buffer)).await;
            let read = read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            if read == 0 || limit == CHUNK_BYTES {
                break;
            }
        }
        if buffer.is_empty()
            && let Some(process) = self.process.take()
        {
            let ended = process.wait().await.map_err(io::Error::other)?;
            self.share = None;
            if ended.status != Some(0) {
                return Err(io::Error::other(format!(
                    "git {} ended with {:?}: {}",
                    ended.command, ended.status, ended.stderr
                )));
            }
        }
        Ok(buffer.freeze())
    }

    /// Returns the next bytes to send. Empty at the end.
    async fn next(&mut self, limit: usize) -> io::Result<Bytes> {
        while self.remaining > 0 {
            let mut bytes =
                if self.buffered.is_empty() { self.read(limit).await? } else { std::mem::take(&mut self.buffered) };
            if bytes.is_empty() {
                break;
            }
            let skipped = bytes.split_to(at_most(self.skip, bytes.len()));
            self.skip -= skipped.len() as u64;
            bytes.truncate(at_most(self.remaining, bytes.len()));
            self.remaining -= bytes.len() as u64;
            if !bytes.is_empty() {
                return Ok(bytes);
            }
        }
        self.process = None;
        self.share = None;
        Ok(Bytes::new())
    }

    /// Converts to an uncompressed body.
    pub(super) fn body(self) -> Body {
        Body::from_stream(unfold(Some(self), |state: Option<Self>| async move {
            let mut pipe = state?;
            match pipe.next(CHUNK_BYTES).await {
                Ok(bytes) if bytes.is_empty() => None,
                Ok(bytes) => Some((Ok(bytes), Some(pipe))),
                Err(error) => Some((Err(logged(error)), None)),
            }
        }))
    }

    /// Converts to a gzip-compressed body. The same input always gives the same bytes, on every machine.
    pub(super) fn gzip(self) -> Body {
        let encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(GZIP_LEVEL));
        Body::from_stream(unfold(Some((self, encoder)), |state: Option<(Self, GzEncoder<Vec<u8>>)>| async move {
            let (mut pipe, mut encoder) = state?;
            loop {
                let bytes = match pipe.next(GZIP_CHUNK_BYTES).await {
                    Ok(bytes) => bytes,
                    Err(error) => return Some((Err(logged(error)), None)),
                };
                if bytes.is_empty() {
                    return Some((encoder.finish().map(Bytes::from).map_err(logged), None));
                }
                let (returned, written) = match tasks::blocking(move || compress(encoder, &bytes)).await {
                    Ok(compressed) => compressed,
                    Err(error) => return Some((Err(logged(error)), None)),
                };
                encoder = returned;
                if !written.is_empty() {
                    return Some((Ok(written), Some((pipe, encoder))));
                }
            }
        }))
    }
}

fn compress(mut encoder: GzEncoder<Vec<u8>>, bytes: &[u8]) -> io::Result<(GzEncoder<Vec<u8>>, Bytes)> {
    encoder.write_all(bytes)?;
    let written = std::mem::take(encoder.get_mut());
    Ok((encoder, written.into()))
}

/// Returns the smaller of `max` and `length`.
fn at_most(max: u64, length: usize) -> usize {
    usize::try_from(max).unwrap_or(usize::MAX).min(length)
}

fn logged(error: io::Error) -> io::Error {
    tracing::error!(%error, "a download from a repository was aborted");
    error
}
