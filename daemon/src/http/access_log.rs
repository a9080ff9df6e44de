//! The access log: one line for each request, when its answer has been sent.
//!
//! The lines have the target [`TARGET`], so `log.filter` can switch them off alone. Paths are logged without their
//! query, where tokens and signatures are.

use std::{
    net::IpAddr,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use crate::serve::Peer;

/// The target of the lines.
pub(super) const TARGET: &str = "farrierd::access";

/// The status of a request whose client left before it was answered, as in the logs of nginx.
const CLIENT_LEFT: u16 = 499;
/// Answers up to this size are logged at once and not followed. Bytes.
const SMALL: u64 = 16 << 10;

/// Who made a request, as it becomes known while the request is handled; in the extensions of requests that are
/// logged.
#[derive(Clone, Debug, Default)]
pub(super) struct CallerName(Arc<OnceLock<String>>);

impl CallerName {
    /// Notes the name of the account or of the job. The first name counts.
    pub(super) fn set(&self, name: impl Into<String>) {
        self.0.get_or_init(|| name.into());
    }
}

/// The line of one request. It is written when this is dropped, so a request whose client leaves has one, too.
pub(super) struct Line {
    request_id: [u8; 16],
    method: Method,
    path: String,
    client: Option<IpAddr>,
    peer: Peer,
    caller: CallerName,
    begun: Instant,
    status: u16,
    bytes: u64,
}

impl Line {
    /// Begins the line of a request; `None` if the log's filter does not want it.
    pub(super) fn begin(
        request_id: [u8; 16],
        method: &Method,
        path: &str,
        peer: &Peer,
        begun: Instant,
    ) -> Option<Self> {
        if !tracing::enabled!(target: TARGET, tracing::Level::INFO) {
            return None;
        }
        Some(Self {
            request_id,
            method: method.clone(),
            path: path.to_owned(),
            client: None,
            peer: peer.clone(),
            caller: CallerName::default(),
            begun,
            status: CLIENT_LEFT,
            bytes: 0,
        })
    }

    /// Notes the client's address, as the peer or a trusted proxy gives it.
    pub(super) fn client(&mut self, address: Option<IpAddr>) {
        self.client = address;
    }

    /// Where the name of the caller is to be noted.
    pub(super) fn caller(&self) -> CallerName {
        self.caller.clone()
    }

    /// The answer whose end ends the line.
    pub(super) fn answered(mut self, response: Response<Body>) -> Response<Body> {
        let status = response.status();
        self.status = status.as_u16();
        let no_body =
            self.method == Method::HEAD || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let size = http_body::Body::size_hint(response.body()).exact();
        match size {
            _ if no_body => response,
            Some(bytes) if bytes <= SMALL => {
                self.bytes = bytes;
                response
            }
            _ => response.map(|body| Body::new(Followed { body, line: self })),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let request_id = std::str::from_utf8(&self.request_id).unwrap_or_default();
        let method = self.method.as_str();
        let (path, status, bytes) = (self.path.as_str(), self.status, self.bytes);
        let duration_ms = (self.begun.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        let account = self.caller.0.get().map_or("-", String::as_str);
        match (&self.peer, self.client) {
            (Peer::Unix(ids), _) => {
                let uid = ids.as_ref().map(|ids| ids.uid);
                tracing::info!(target: TARGET, request_id, method, path, account, uid, status, bytes, duration_ms, "request");
            }
            (_, client) => {
                let client = client.map(tracing::field::display);
                tracing::info!(target: TARGET, request_id, method, path, account, client, status, bytes, duration_ms, "request");
            }
        }
    }
}

/// The body of an answer whose bytes are counted.
struct Followed {
    body: Body,
    line: Line,
}

impl http_body::Body for Followed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let next = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &next {
            self.line.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
