//! Streams artifact bytes as a response body with an exact length.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream as _, future::BoxFuture};
use http_body::{Body, Frame, SizeHint};

use crate::{
    blob::{BlobError, BlockReader},
    service::access_watch::AccessWatch,
};

/// A body that reads blocks. If a read fails or the caller loses its access, the connection is closed before the end of
/// the body, so that the client notices missing bytes.
pub(in crate::http) struct BlockBody {
    reader: BlockReader,
    /// Ready when the caller has lost its access.
    revoked: Option<BoxFuture<'static, ()>>,
}

/// Why a download ended early.
#[derive(Debug, thiserror::Error)]
pub(in crate::http) enum DownloadError {
    /// The blocks cannot be read.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The account that received the URL lost its access.
    #[error("the caller has lost its access")]
    Revoked,
}

impl BlockBody {
    pub(in crate::http) fn new(reader: BlockReader, access: Option<AccessWatch>) -> Self {
        let revoked = access.map(|mut access| async move { access.lost().await }.boxed());
        Self { reader, revoked }
    }
}

impl Body for BlockBody {
    type Data = Bytes;
    type Error = DownloadError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, DownloadError>>> {
        if self.revoked.as_mut().is_some_and(|revoked| revoked.as_mut().poll(cx).is_ready()) {
            self.revoked = None;
            tracing::info!("an artifact download was aborted: its caller lost its access");
            return Poll::Ready(Some(Err(DownloadError::Revoked)));
        }
        let next = Pin::new(&mut self.reader).poll_next(cx);
        if let Poll::Ready(Some(Err(error))) = &next {
            tracing::error!(error = error as &dyn std::error::Error, "an artifact download was aborted");
        }
        next.map(|item| item.map(|bytes| bytes.map(Frame::data).map_err(DownloadError::from)))
    }

    fn is_end_stream(&self) -> bool {
        self.reader.remaining() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.reader.remaining())
    }
}
