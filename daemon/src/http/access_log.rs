//! The access log: one line per request, written when the response has been sent.
//!
//! The lines have the target [`TARGET`], so `log.filter` can switch them off separately. Paths are logged without
//! their query, which can contain tokens and signatures.

use std::{
    net::IpAddr,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use farrier_common::FULL_SCREEN_AGENT;
use http::{HeaderMap, Method, Response, StatusCode, header};
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use crate::{serve::Peer, telemetry::UNRECORDED_TARGET};

/// The tracing target of access log lines.
pub(super) const TARGET: &str = "farrierd::access";

/// The route of the log records. Successful requests for it have the target [`UNRECORDED_TARGET`].
const LOG_RECORDS: &str = "/api/farrier/v1/logs";

/// Logged as the status when the client disconnects before the response, as nginx does.
const CLIENT_LEFT: u16 = 499;
/// Responses up to this many bytes are logged at once, without waiting for the body to be sent.
const SMALL: u64 = 16 << 10;

/// The caller's name, set once authentication succeeds. Stored in the extensions of requests that are logged.
#[derive(Clone, Debug, Default)]
pub(super) struct CallerName(Arc<OnceLock<String>>);

impl CallerName {
    /// Sets the name of the account or the job. Later calls have no effect.
    pub(super) fn set(&self, name: impl Into<String>) {
        self.0.get_or_init(|| name.into());
    }
}

/// The log line of one request. It is written on drop, so it is also written when the client disconnects early.
pub(super) struct AccessLogEntry {
    request_id: [u8; 16],
    method: Method,
    path: String,
    client: Option<IpAddr>,
    peer: Peer,
    caller: CallerName,
    started: Instant,
    status: u16,
    bytes: u64,
    /// Whether the client says that it is a full screen, which sends requests as long as it is open.
    is_full_screen: bool,
}

impl AccessLogEntry {
    /// Creates the entry of a request, or `None` if the log filter excludes access log lines.
    pub(super) fn begin(
        request_id: [u8; 16],
        method: &Method,
        path: &str,
        peer: &Peer,
        started: Instant,
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
            started,
            status: CLIENT_LEFT,
            bytes: 0,
            is_full_screen: false,
        })
    }

    /// Reads whether the client is a full screen. Other values of `User-Agent` are not logged.
    pub(super) fn set_agent(&mut self, headers: &HeaderMap) {
        let agent = headers.get(header::USER_AGENT).map(http::HeaderValue::as_bytes);
        let rest = agent.and_then(|agent| agent.strip_prefix(FULL_SCREEN_AGENT.as_bytes()));
        self.is_full_screen = rest.is_some_and(|rest| rest.starts_with(b"/"));
    }

    /// Returns whether the line is marked as one of a full screen, so that it can be left out of the log records. Every
    /// client can send this `User-Agent`, so changes and refused requests are never marked.
    fn is_marked(&self) -> bool {
        self.is_full_screen && self.method == Method::GET && (self.status < 400 || self.status == CLIENT_LEFT)
    }

    /// Sets the client's address: the peer's, or the address that a trusted proxy reports.
    pub(super) fn set_client(&mut self, address: Option<IpAddr>) {
        self.client = address;
    }

    /// Returns the slot for the caller's name.
    pub(super) fn caller(&self) -> CallerName {
        self.caller.clone()
    }

    /// Sets the status and size of `response`. A large body keeps the entry until it has been sent.
    pub(super) fn follow(mut self, response: Response<Body>) -> Response<Body> {
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
            _ => response.map(|body| Body::new(LoggedBody { body, entry: self })),
        }
    }
}

impl Drop for AccessLogEntry {
    fn drop(&mut self) {
        let request_id = std::str::from_utf8(&self.request_id).unwrap_or_default();
        let method = self.method.as_str();
        let (path, status, bytes) = (self.path.as_str(), self.status, self.bytes);
        let duration_ms = (self.started.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        let account = self.caller.0.get().map_or("-", String::as_str);
        let uid = self.peer.uid();
        let full_screen = self.is_marked().then_some(true);
        let client = self.client.filter(|_| matches!(self.peer, Peer::Tcp(_))).map(tracing::field::display);
        // The target of a line is fixed where it is logged.
        macro_rules! line {
            ($target:expr) => {
                tracing::info!(
                    target: $target,
                    request_id, method, path, account, uid, client, status, bytes, duration_ms,
                    full_screen,
                    "request"
                )
            };
        }
        if path == LOG_RECORDS && status == StatusCode::OK { line!(UNRECORDED_TARGET) } else { line!(TARGET) }
    }
}

/// A response body that adds its bytes to the log entry.
struct LoggedBody {
    body: Body,
    entry: AccessLogEntry,
}

impl http_body::Body for LoggedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let next = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &next {
            self.entry.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
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
