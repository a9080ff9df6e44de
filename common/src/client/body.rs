//! Request and response bodies.
//!
//! Response bodies are read in chunks, with a limit on the time without data. Reading a complete body is done
//! in `answer`, with a size limit.

use std::{convert::Infallible, io, time::Duration};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http_body_util::{BodyExt as _, Empty, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};

use super::ClientError;

/// The connection is treated as lost if the peer sends nothing for this long within a body.
const SILENCE_MAX: Duration = Duration::from_mins(1);

/// The body of a request.
pub type RequestBody = UnsyncBoxBody<Bytes, io::Error>;

/// Returns an empty body.
pub fn empty() -> RequestBody {
    Empty::new().map_err(never).boxed_unsync()
}

/// Returns a body from memory with a `Content-Length`.
pub fn full(bytes: impl Into<Bytes>) -> RequestBody {
    Full::new(bytes.into()).map_err(never).boxed_unsync()
}

/// Returns a streamed body. It is sent chunked, without a `Content-Length`.
pub fn stream<S>(pieces: S) -> RequestBody
where
    S: Stream<Item = io::Result<Bytes>> + Send + 'static,
{
    StreamBody::new(pieces.map(|piece| piece.map(Frame::data))).boxed_unsync()
}

fn never(error: Infallible) -> io::Error {
    match error {}
}

/// The same for a backup, which sends nothing while the daemon copies its store.
const BACKUP_SILENCE_MAX: Duration = Duration::from_hours(1);

/// A response body, read in chunks.
pub struct Chunks {
    body: Incoming,
    silence_max: Duration,
}

impl std::fmt::Debug for Chunks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chunks").finish_non_exhaustive()
    }
}

impl Chunks {
    pub(super) fn new(body: Incoming) -> Self {
        Self { body, silence_max: SILENCE_MAX }
    }

    /// Returns the chunks of a backup.
    pub(super) fn of_backup(body: Incoming) -> Self {
        Self { body, silence_max: BACKUP_SILENCE_MAX }
    }

    /// Returns the next chunk; `None` at the end. Returns an error if the body is shorter than its
    /// `Content-Length`.
    pub async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        loop {
            let Ok(frame) = tokio::time::timeout(self.silence_max, self.body.frame()).await else {
                return Some(Err(ClientError::Silent { seconds: self.silence_max.as_secs() }));
            };
            match frame? {
                Ok(frame) => {
                    // Trailers are ignored.
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(error) => return Some(Err(ClientError::lost("reading an answer", error))),
            }
        }
    }
}
