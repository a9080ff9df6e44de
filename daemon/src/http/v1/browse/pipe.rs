//! The output of a git process as a response body.
//!
//! The process lives in the body: a client that leaves drops it, and that kills the process. A
//! process that fails cuts the connection, so that the client sees that bytes are missing.

use std::{io, io::Write as _, time::Duration};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use flate2::{Compression, GzBuilder, write::GzEncoder};
use futures_util::stream::unfold;
use tokio::{io::AsyncReadExt as _, sync::OwnedSemaphorePermit};

use crate::{git::GitProcess, tasks};

/// Read and sent at once, bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// Compressed at once, bytes. Always so many: archives must not depend on how pipes fill.
const GZIP_CHUNK_BYTES: usize = 256 << 10;
/// Fixed for as long as archives are to stay the same.
const GZIP_LEVEL: u32 = 6;

/// A git process whose output becomes a body.
pub(super) struct Pipe {
    process: Option<GitProcess>,
    /// Read already, or to be sent in front.
    ready: Bytes,
    /// Of the output, bytes that are not sent first.
    skip: u64,
    /// Bytes that are sent at most.
    left: u64,
    /// A process that writes nothing for so long is given up.
    patience: Duration,
    permit: Option<OwnedSemaphorePermit>,
}

impl Pipe {
    /// Everything that `process` writes.
    pub(super) fn new(process: GitProcess, patience: Duration) -> Self {
        Self { process: Some(process), ready: Bytes::new(), skip: 0, left: u64::MAX, patience, permit: None }
    }

    /// Keeps `permit` until the end.
    pub(super) fn holding(self, permit: OwnedSemaphorePermit) -> Self {
        Self { permit: Some(permit), ..self }
    }

    /// Sends `bytes` first.
    pub(super) fn after(self, bytes: impl Into<Bytes>) -> Self {
        Self { ready: bytes.into(), ..self }
    }

    /// Sends the bytes in `range` only.
    pub(super) fn part(self, range: &std::ops::Range<u64>) -> Self {
        Self { skip: range.start, left: range.end - range.start, ..self }
    }

    /// The first bytes of the output, as far as one read gives them; they are sent all the same.
    pub(super) async fn peek(&mut self) -> io::Result<&[u8]> {
        if self.ready.is_empty() {
            self.ready = self.read(CHUNK_BYTES).await?;
        }
        Ok(&self.ready)
    }

    /// The next bytes of the process; none at its good end.
    async fn read(&mut self, limit: usize) -> io::Result<Bytes> {
        let Some(process) = &mut self.process else { return Ok(Bytes::new()) };
        let mut buffer = BytesMut::with_capacity(limit);
        while buffer.len() < limit {
            let read = tokio::time::timeout(self.patience, process.read_buf(&mut buffer)).await;
            let read = read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            if read == 0 || limit == CHUNK_BYTES {
                break;
            }
        }
        if buffer.is_empty()
            && let Some(process) = self.process.take()
        {
            let ended = process.wait().await.map_err(io::Error::other)?;
            self.permit = None;
            if ended.status != Some(0) {
                return Err(io::Error::other(format!(
                    "git {} ended with {:?}: {}",
                    ended.command, ended.status, ended.stderr
                )));
            }
        }
        Ok(buffer.freeze())
    }

    /// The next bytes to send; none at the end.
    async fn next(&mut self, limit: usize) -> io::Result<Bytes> {
        while self.left > 0 {
            let mut bytes =
                if self.ready.is_empty() { self.read(limit).await? } else { std::mem::take(&mut self.ready) };
            if bytes.is_empty() {
                break;
            }
            let skipped = bytes.split_to(fitting(self.skip, bytes.len()));
            self.skip -= skipped.len() as u64;
            bytes.truncate(fitting(self.left, bytes.len()));
            self.left -= bytes.len() as u64;
            if !bytes.is_empty() {
                return Ok(bytes);
            }
        }
        self.process = None;
        self.permit = None;
        Ok(Bytes::new())
    }

    /// The bytes as they are.
    pub(super) fn body(self) -> Body {
        Body::from_stream(unfold(Some(self), |state: Option<Self>| async move {
            let mut pipe = state?;
            match pipe.next(CHUNK_BYTES).await {
                Ok(bytes) if bytes.is_empty() => None,
                Ok(bytes) => Some((Ok(bytes), Some(pipe))),
                Err(error) => Some((Err(broken(error)), None)),
            }
        }))
    }

    /// The bytes compressed: the same ones for the same input, on every machine.
    pub(super) fn gzip(self) -> Body {
        let encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(GZIP_LEVEL));
        Body::from_stream(unfold(Some((self, encoder)), |state: Option<(Self, GzEncoder<Vec<u8>>)>| async move {
            let (mut pipe, mut encoder) = state?;
            loop {
                let bytes = match pipe.next(GZIP_CHUNK_BYTES).await {
                    Ok(bytes) => bytes,
                    Err(error) => return Some((Err(broken(error)), None)),
                };
                if bytes.is_empty() {
                    return Some((encoder.finish().map(Bytes::from).map_err(broken), None));
                }
                let (back, written) = match tasks::blocking(move || compress(encoder, &bytes)).await {
                    Ok(compressed) => compressed,
                    Err(error) => return Some((Err(broken(error)), None)),
                };
                encoder = back;
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

/// Of `length` bytes, at most `most`.
fn fitting(most: u64, length: usize) -> usize {
    usize::try_from(most).unwrap_or(usize::MAX).min(length)
}

fn broken(error: io::Error) -> io::Error {
    tracing::error!(%error, "a download from a repository broke off");
    error
}
