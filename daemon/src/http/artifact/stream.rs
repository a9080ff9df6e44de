//! Streams artifact bytes as a response body with an exact length.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::Stream as _;
use http_body::{Body, Frame, SizeHint};

use crate::blob::{BlobError, BlockReader};

/// A body that reads blocks. If a read fails, the connection is closed before the end of the body, so that the client
/// notices missing bytes.
pub(super) struct BlockBody(BlockReader);

impl BlockBody {
    pub(super) fn new(reader: BlockReader) -> Self {
        Self(reader)
    }
}

impl Body for BlockBody {
    type Data = Bytes;
    type Error = BlobError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BlobError>>> {
        let next = Pin::new(&mut self.0).poll_next(cx);
        if let Poll::Ready(Some(Err(error))) = &next {
            tracing::error!(error = error as &dyn std::error::Error, "an artifact download was aborted");
        }
        next.map(|item| item.map(|bytes| bytes.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.remaining() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.remaining())
    }
}
