//! The output of git as the body of a response.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body as AxumBody;
use bytes::Bytes;
use http_body::{Body, Frame};

use super::{EMPTY, error::GitFailure};
use crate::service::transfers::{TransferError, output::OutputReceiver};

/// Waits for git's first output or its end, then returns the response body, which starts with `prefix`.
///
/// A failure before the first output is returned as an error, so that it can still become a status code. The prefix is
/// joined to the first output by copying, so it must be empty if the output may contain placeholders for parts of
/// files.
pub(super) async fn into_body(mut output: OutputReceiver, prefix: Bytes) -> Result<AxumBody, GitFailure> {
    let first = match output.recv().await {
        None | Some(Err(TransferError::Reported(_))) => EMPTY,
        Some(chunk) => chunk?,
    };
    let first: Bytes = if prefix.is_empty() { first } else { [prefix, first].concat().into() };
    if output.has_ended() {
        return Ok(AxumBody::from(first));
    }
    Ok(AxumBody::new(OutputBody { first, rest: output }))
}

struct OutputBody {
    first: Bytes,
    rest: OutputReceiver,
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
        self.rest.poll_recv(cx).map(|chunk| match chunk {
            // The client has read the reason in git's own protocol.
            None | Some(Err(TransferError::Reported(_))) => None,
            Some(Ok(chunk)) => Some(Ok(Frame::data(chunk))),
            Some(Err(_)) => Some(Err(GitAborted)),
        })
    }
}
