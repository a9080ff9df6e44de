//! A stream of bytes from blocks, independent of the storage.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream::BoxStream};

use super::BlobError;

/// Streams the bytes of a range of blocks, in order. Reading starts with the first poll. The stream ends after
/// an error.
pub struct BlockReader {
    chunks: BoxStream<'static, Result<Bytes, BlobError>>,
    remaining: u64,
}

impl BlockReader {
    /// Wraps `chunks`, which have `remaining` bytes in total.
    pub(super) fn new(chunks: BoxStream<'static, Result<Bytes, BlobError>>, remaining: u64) -> Self {
        Self { chunks, remaining }
    }

    /// Returns the number of bytes that have not been read yet.
    pub fn remaining(&self) -> u64 {
        self.remaining
    }
}

impl Stream for BlockReader {
    type Item = Result<Bytes, BlobError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.chunks.poll_next_unpin(cx);
        if let Poll::Ready(Some(Ok(chunk))) = &polled {
            self.remaining = self.remaining.saturating_sub(chunk.len() as u64);
        }
        polled
    }
}

impl fmt::Debug for BlockReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockReader").field("remaining", &self.remaining).finish_non_exhaustive()
    }
}
