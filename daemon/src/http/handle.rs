//! Handles every request before and after routing: request id, canonical path, idle timeout of the body,
//! security headers, one log line.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, response::IntoResponse as _};
use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, Uri, header};
use hyper::body::{Body as _, Incoming};
use percent_encoding::percent_decode_str;
use tower::ServiceExt as _;

use super::{
    access_log,
    artifact::BlobApiError,
    auth::{client_address, query_token},
    body::{DrainOnDrop, IdleTimeoutBody},
    error::{ApiError, complete},
    etag,
};
use crate::{app::App, model::secret, serve::Peer, webhook::request::ATTEMPT};

/// Finds a request in the log; in every answer.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Makes the numbers of requests: 16 hexadecimal digits, no two alike while the daemon runs, and
/// from another place at each start. Asking the system for each would cost a tenth of a small GET.
struct RequestIds(AtomicU64);

impl RequestIds {
    /// Odd, so that adding it again and again comes by every number once; and far from small, so
    /// that neighbours do not look alike.
    const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

    fn new() -> Self {
        Self(AtomicU64::new(u64::from_le_bytes(secret::random_bytes())))
    }

    fn next(&self) -> RequestId {
        let number = self.0.fetch_add(Self::STRIDE, Ordering::Relaxed);
        let mut digits = [0; 16];
        hex::encode_to_slice(number.to_be_bytes(), &mut digits).expect("two digits a byte");
        RequestId(digits)
    }
}

/// The number of one request, without a place of its own in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RequestId([u8; 16]);

impl RequestId {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are text")
    }
}

/// Where clients of the family look for words about what will go away.
const WARNING: HeaderName = HeaderName::from_static("x-gitea-warning");

/// The HTTP service that the accept loop calls for each request. Clones share their state.
#[derive(Clone)]
pub struct HttpService(Arc<Shared>);

struct Shared {
    router: Router,
    app: App,
    idle_timeout: Duration,
    ids: RequestIds,
}

impl HttpService {
    /// Creates the service for `router`. Requests are counted in the counters of `app`. A request body fails when no
    /// byte arrives for `server.idle_timeout_secs`.
    pub fn new(router: Router, app: &App) -> Self {
        let idle_timeout = app.config.server.idle_timeout;
        Self(Arc::new(Shared { router, app: app.clone(), idle_timeout, ids: RequestIds::new() }))
    }

    /// Answers one request.
    pub async fn handle(self, peer: Peer, request: Request<Incoming>) -> Response<Body> {
        let Shared { router, app, idle_timeout, ids } = &*self.0;
        let tasks = &app.tasks;
        let id = ids.next();
        let begun = tokio::time::Instant::now();
        let method = request.method().clone();
        let (mut parts, body) = request.into_parts();
        parts.uri = canonical(parts.uri);
        let mut line = access_log::Line::begin(id.0, &method, parts.uri.path(), &peer, begun);
        if let Some(line) = &mut line {
            line.client(client_address(app, &parts.headers, Some(&peer)));
            parts.extensions.insert(line.caller());
        }
        parts.extensions.insert(peer);
        let body = if body.is_end_stream() {
            Body::empty()
        } else {
            let asks_first = parts.headers.contains_key(header::EXPECT);
            Body::new(DrainOnDrop::new(IdleTimeoutBody::new(body, *idle_timeout), asks_first, tasks.clone()))
        };
        let uri = parts.uri.clone();
        let known = parts.headers.get(header::IF_NONE_MATCH).cloned();
        // The query is left out of every log line: signatures and tokens stand there.
        let path = uri.path();
        let request = Request::from_parts(parts, body);

        let answer = AssertUnwindSafe(answer(router.clone(), request)).catch_unwind();
        // hyper drops the answer of a client that is gone. A change that has begun goes on to its
        // end none the less: it may be made already, with what follows from it still to do.
        let answer = if method.is_safe() { answer.await } else { tasks.carry(answer).await };
        let response = match answer {
            Ok(response) => etag::apply(response, &method, known.as_ref()),
            Err(panic) => {
                tracing::error!(request_id = id.as_str(), panic = panic_text(&*panic), "a handler panicked");
                ApiError::internal().into_response()
            }
        };
        let status = response.status().as_u16();
        app.serving.requests.count(path, status, begun);
        if status >= 500 {
            tracing::warn!(request_id = id.as_str(), %method, path, status, "a request failed");
        }
        let mut response = complete(response, &app.root_url, &uri, id.as_str());
        let headers = response.headers_mut();
        if let Ok(id) = HeaderValue::from_bytes(&id.0) {
            headers.insert(REQUEST_ID, id);
        }
        if query_token(uri.query()).is_some() && path.starts_with("/api/") {
            headers.insert(WARNING, HeaderValue::from_static("tokens in the query are deprecated, send a header"));
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
        match line {
            Some(line) => line.answered(response),
            None => response,
        }
    }
}

async fn answer(router: Router, request: Request<Body>) -> Response<Body> {
    if request.headers().contains_key(ATTEMPT) {
        // A hook that calls its own service could set off the event that it tells of, for ever.
        let reason = "this is a delivery of a webhook, which no farrier receives";
        return ApiError::new(StatusCode::LOOP_DETECTED, reason).into_response();
    }
    let path = request.uri().path();
    if is_text(path) {
        return match router.oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
    }
    if path.starts_with("/_blob/") {
        return BlobApiError::no_address().into_response();
    }
    ApiError::no_route().into_response()
}

/// Whether the escapes of a path are text.
///
/// A path whose escapes are no text cannot name anything. Twirp does not decode paths.
pub(crate) fn is_text(path: &str) -> bool {
    !path.contains('%') || path.starts_with("/twirp") || percent_decode_str(path).decode_utf8().is_ok()
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)")
}

/// One spelling of each path: no doubled slashes, none at the end.
pub(crate) fn canonical(uri: Uri) -> Uri {
    let path = uri.path();
    if !path.contains("//") && (path.len() <= 1 || !path.ends_with('/')) {
        return uri;
    }
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("/{}{query}", segments.join("/")).parse().unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_no_text_are_told() {
        for (path, expected) in
            [("/a%2Fb", true), ("/%", true), ("/%ff", false), ("/a/%c0%ae", false), ("/twirp/%ff", true)]
        {
            assert_eq!(is_text(path), expected, "{path}");
        }
    }

    #[test]
    fn no_two_requests_have_one_number() {
        let ids = RequestIds::new();
        let many: std::collections::HashSet<RequestId> = (0..1_000).map(|_| ids.next()).collect();
        assert_eq!(many.len(), 1_000);
        assert!(many.iter().all(|id| id.as_str().bytes().all(|digit| digit.is_ascii_hexdigit())));
    }

    #[test]
    fn paths_have_one_spelling() {
        for (given, expected) in [
            ("/api/v1/version", "/api/v1/version"),
            ("/api//v1/version/", "/api/v1/version"),
            ("//a///b//?x=//", "/a/b?x=//"),
            ("/", "/"),
            ("///", "/"),
            ("/a%2Fb/", "/a%2Fb"),
        ] {
            assert_eq!(canonical(given.parse().expect("a path")).to_string(), expected, "{given}");
        }
    }
}
