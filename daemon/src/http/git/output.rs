//! Forwards the output of git to the client.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body as AxumBody;
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use tokio::{io::AsyncReadExt as _, sync::mpsc};

use super::{EMPTY, error::GitFailure, stall_timer::StallTimer};
use crate::git::GitProcess;

/// Capacity of a read buffer; each read gives one chunk.
const BUFFER_BYTES: usize = 256 * 1024;
/// A buffer with less free capacity is replaced, so that a single write of git fits into one chunk.
const MIN_FREE_BYTES: usize = 64 * 1024;
/// Maximum number of chunks that wait for the client.
const QUEUE_CHUNKS: usize = 4;

/// The sending end of git's output: chunks, or the error that ends it.
pub(super) type OutputSender = mpsc::Sender<Result<Bytes, GitFailure>>;

/// The receiving end of git's output.
pub(super) struct OutputReceiver(mpsc::Receiver<Result<Bytes, GitFailure>>);

/// Creates both ends of git's output.
pub(super) fn channel() -> (OutputSender, OutputReceiver) {
    let (sender, chunks) = mpsc::channel(QUEUE_CHUNKS);
    (sender, OutputReceiver(chunks))
}

impl OutputReceiver {
    /// Waits for git's first output or its end, then returns the response body, which starts with `prefix`.
    ///
    /// A failure before the first output is returned as an error, so that it can still become a status code.
    pub(super) async fn into_body(mut self, prefix: Bytes) -> Result<AxumBody, GitFailure> {
        let first = match self.0.recv().await {
            Some(chunk) => chunk?,
            None => EMPTY,
        };
        let first = if prefix.is_empty() { first } else { [prefix, first].concat().into() };
        Ok(AxumBody::new(OutputBody { first, rest: self.0 }))
    }
}

/// Sends the output of `process` to `out` until the process closes it, and returns the number of bytes.
///
/// When the client disconnects, returns early; with `keep_reading`, reads and discards the rest instead.
pub(super) async fn forward(
    process: &mut GitProcess,
    out: &OutputSender,
    stall_timer: &StallTimer,
    keep_reading: bool,
) -> std::io::Result<u64> {
    let mut buffer = BytesMut::new();
    let (mut connected, mut bytes) = (true, 0);
    loop {
        if buffer.capacity() < MIN_FREE_BYTES {
            buffer.reserve(BUFFER_BYTES);
        }
        if process.read_buf(&mut buffer).await? == 0 {
            return Ok(bytes);
        }
        stall_timer.restart();
        bytes += buffer.len() as u64;
        connected = connected && out.send(Ok(buffer.split().freeze())).await.is_ok();
        stall_timer.restart();
        buffer.clear();
        if !connected && !keep_reading {
            return Ok(bytes);
        }
    }
}

struct OutputBody {
    first: Bytes,
    rest: mpsc::Receiver<Result<Bytes, GitFailure>>,
}

/// The error that closes the connection when git fails after its first output.
#[derive(Debug, thiserror::Error)]
#[error("git failed")]
struct GitAborted;

impl Body for OutputBody {
    type Data = Bytes;
    type Error = GitAborted;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, GitAborted>>> {
        if !self.first.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.first)))));
        }
        self.rest.poll_recv(cx).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data).map_err(|_| GitAborted)))
    }
}
