//! A stream of bytes from blocks, whoever keeps them. Whoever opens one decides about buffers.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream::BoxStream};

use super::BlobError;

/// The bytes of a range of blocks, in order. Nothing is read before it is polled first; after an
/// error it has ended.
pub struct BlockReader {
    chunks: BoxStream<'static, Result<Bytes, BlobError>>,
    remaining: u64,
}

impl BlockReader {
    /// A reader of `chunks`, which hold `remaining` bytes.
    pub(super) fn new(chunks: BoxStream<'static, Result<Bytes, BlobError>>, remaining: u64) -> Self {
        Self { chunks, remaining }
    }

    /// Bytes that are still to come, if nothing goes wrong.
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
