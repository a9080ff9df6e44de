//! Bodies in both directions.
//!
//! Owns the one type of request body and the way a response body is read in pieces, with a bound
//! on silence. Never collects a body whole: that is `answer`'s, with a limit.

use std::{convert::Infallible, io, time::Duration};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http_body_util::{BodyExt as _, Empty, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};

use super::ClientError;

/// A peer that sends nothing for this long in the middle of a body is taken for gone.
const SILENCE_MAX: Duration = Duration::from_mins(1);

/// The body of a request.
pub type RequestBody = UnsyncBoxBody<Bytes, io::Error>;

/// No body.
pub fn empty() -> RequestBody {
    Empty::new().map_err(never).boxed_unsync()
}

/// A body in memory; its length is announced.
pub fn full(bytes: impl Into<Bytes>) -> RequestBody {
    Full::new(bytes.into()).map_err(never).boxed_unsync()
}

/// A body that comes in pieces. It goes out chunked: no length is announced.
pub fn stream<S>(pieces: S) -> RequestBody
where
    S: Stream<Item = io::Result<Bytes>> + Send + 'static,
{
    StreamBody::new(pieces.map(|piece| piece.map(Frame::data))).boxed_unsync()
}

fn never(error: Infallible) -> io::Error {
    match error {}
}

/// A response body, piece by piece.
pub struct Chunks(Incoming);

impl std::fmt::Debug for Chunks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunks").finish_non_exhaustive()
    }
}

impl Chunks {
    pub(super) fn new(body: Incoming) -> Self {
        Self(body)
    }

    /// The next piece; `None` at the end, which is only the end if the body was as long as
    /// announced.
    pub async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        loop {
            let Ok(frame) = tokio::time::timeout(SILENCE_MAX, self.0.frame()).await else {
                return Some(Err(ClientError::Silent { seconds: SILENCE_MAX.as_secs() }));
            };
            match frame? {
                Ok(frame) => {
                    // Trailers carry nothing that anyone here reads.
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(error) => return Some(Err(ClientError::lost("reading an answer", error))),
            }
        }
    }
}
