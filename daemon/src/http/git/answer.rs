//! What git writes, on its way to the client.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body as AxumBody;
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use tokio::{io::AsyncReadExt as _, sync::mpsc};

use super::{NOTHING, error::GitFailure, watch::Watch};
use crate::git::GitProcess;

/// Room for git's output; a piece is what one read gives of it.
const ROOM_BYTES: usize = 256 * 1024;
/// Below this, room is made anew: what git writes at once fits.
const LEAST_BYTES: usize = 64 * 1024;
/// Pieces that wait for the client.
const QUEUE: usize = 4;

/// Where an answer is written: pieces, or why there are no more.
pub(super) type Out = mpsc::Sender<Result<Bytes, GitFailure>>;

/// The reading end of an answer.
pub(super) struct Answer(mpsc::Receiver<Result<Bytes, GitFailure>>);

/// Both ends of an answer.
pub(super) fn channel() -> (Out, Answer) {
    let (out, pieces) = mpsc::channel(QUEUE);
    (out, Answer(pieces))
}

impl Answer {
    /// Waits until git has something to say or has ended, so that a failure can still be a status.
    /// `begin` goes before it.
    pub(super) async fn begun(mut self, begin: Bytes) -> Result<AxumBody, GitFailure> {
        let first = match self.0.recv().await {
            Some(piece) => piece?,
            None => NOTHING,
        };
        let first = if begin.is_empty() { first } else { [begin, first].concat().into() };
        Ok(AxumBody::new(Pieces { first, rest: self.0 }))
    }
}

/// Passes on what `process` writes until it ends, and counts the bytes. When nobody listens any
/// more it returns, or reads the rest for nobody if it is to `keep` going.
pub(super) async fn forward(process: &mut GitProcess, out: &Out, watch: &Watch, keep: bool) -> std::io::Result<u64> {
    let mut buffer = BytesMut::new();
    let (mut heard, mut bytes) = (true, 0);
    loop {
        if buffer.capacity() < LEAST_BYTES {
            buffer.reserve(ROOM_BYTES);
        }
        if process.read_buf(&mut buffer).await? == 0 {
            return Ok(bytes);
        }
        watch.moved();
        bytes += buffer.len() as u64;
        heard = heard && out.send(Ok(buffer.split().freeze())).await.is_ok();
        watch.moved();
        buffer.clear();
        if !heard && !keep {
            return Ok(bytes);
        }
    }
}

struct Pieces {
    first: Bytes,
    rest: mpsc::Receiver<Result<Bytes, GitFailure>>,
}

/// What the connection is cut with when git fails in the middle.
#[derive(Debug, thiserror::Error)]
#[error("git broke off")]
struct BrokeOff;

impl Body for Pieces {
    type Data = Bytes;
    type Error = BrokeOff;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokeOff>>> {
        if !self.first.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.first)))));
        }
        self.rest.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data).map_err(|_| BrokeOff)))
    }
}
