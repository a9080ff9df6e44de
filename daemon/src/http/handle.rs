//! Handles every request before and after routing: request id, canonical path, pace of the body,
//! refused requests, security headers, one log line.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{Router, body::Body, response::IntoResponse as _};
use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri, header};
use hyper::body::Body as _;
use percent_encoding::percent_decode_str;
use tower::ServiceExt as _;

use super::{
    AppState, access_log,
    artifact::BlobApiError,
    auth::{client_address, count_memory_to, query_token},
    body::{DrainOnDrop, PacedBody, drain_timeout},
    browser,
    error::{ApiError, complete},
    etag, git,
    refusal::Refusal,
};
use crate::{
    model::secret,
    serve::{Handler, IncomingBody, Pace, Peer},
    service::audit::RequestScope,
    shares::Holder,
    webhook::request::ATTEMPT,
};

/// Response header with the request id, which also appears in the log.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The same header for clients of the Azure family, in responses to block-blob requests. One of them ends with a
/// panic if it is missing.
const BLOB_REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");

/// Generates request ids of 16 hexadecimal digits, unique until the daemon restarts.
///
/// The first id is random. Drawing each id from the system's random generator would take a tenth of the time of a
/// small GET.
struct RequestIds(AtomicU64);

impl RequestIds {
    /// Odd, so that repeated addition reaches every number before it repeats one; large, so that consecutive ids
    /// look different.
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

/// The id of one request, as ASCII hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RequestId([u8; 16]);

impl RequestId {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are text")
    }

    /// Adds the id to the headers of the response to a request for `path`.
    fn set(&self, headers: &mut HeaderMap, path: &str) {
        let Ok(id) = HeaderValue::from_bytes(&self.0) else { return };
        if path.starts_with("/_blob/") {
            headers.insert(BLOB_REQUEST_ID, id.clone());
        }
        headers.insert(REQUEST_ID, id);
    }
}

/// Response header in which Gitea-family clients expect deprecation warnings.
const WARNING: HeaderName = HeaderName::from_static("x-gitea-warning");

/// Response header that keeps other web sites from embedding responses.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The HTTP service that the accept loop calls for each request. Clones share their state.
#[derive(Clone)]
pub struct HttpService(Arc<Shared>);

struct Shared {
    router: Router,
    state: AppState,
    pace: Pace,
    ids: RequestIds,
}

impl HttpService {
    /// Creates the service for `router`. Requests are counted in the counters of `state`. A request body fails when
    /// its client sends too slowly, see `server.idle_timeout_secs` and `server.body_min_bytes_per_sec`.
    pub fn new(router: Router, state: &AppState) -> Self {
        let server = &state.config.server;
        let pace = Pace { wait_max: server.idle_timeout, min_bytes_per_sec: server.body_min_bytes_per_sec };
        Self(Arc::new(Shared { router, state: state.clone(), pace, ids: RequestIds::new() }))
    }

    async fn respond(self, peer: Peer, request: Request<IncomingBody>) -> Response<Body> {
        let Shared { router, state, pace, ids } = &*self.0;
        let tasks = &state.tasks;
        let id = ids.next();
        let started = tokio::time::Instant::now();
        let method = request.method().clone();
        let (mut parts, body) = request.into_parts();
        parts.uri = canonical(parts.uri);
        let mut entry = access_log::AccessLogEntry::begin(id.0, &method, parts.uri.path(), &peer, started);
        let client = client_address(state, &parts.headers, Some(&peer));
        if let Some(entry) = &mut entry {
            entry.set_client(client);
            entry.set_agent(&parts.headers);
            parts.extensions.insert(entry.caller());
        }
        if matches!(peer, Peer::Tcp(_)) {
            // Until the caller is authenticated. So far, the memory counts to the proxy if there is one.
            count_memory_to(&parts.extensions, Holder::address(client));
        }
        let scope = RequestScope::new(id.0, client, peer.uid());
        parts.extensions.insert(peer);
        let body = if body.is_end_stream() {
            Body::empty()
        } else {
            let expects_continue = parts.headers.contains_key(header::EXPECT);
            Body::new(DrainOnDrop::new(
                PacedBody::new(body, *pace),
                expects_continue,
                drain_timeout(pace),
                tasks.clone(),
            ))
        };
        let refusal = Refusal::of(&parts);
        let uri = parts.uri.clone();
        let if_none_match = parts.headers.get(header::IF_NONE_MATCH).cloned();
        // No log line contains the query: it can hold signatures and tokens.
        let path = uri.path();
        let request = Request::from_parts(parts, body);

        let handling = answer(state.clone(), router.clone(), refusal, request);
        let handling = scope.run(AssertUnwindSafe(handling).catch_unwind());
        // hyper drops this future when the client disconnects. A request that changes data still runs to its end:
        // the transaction may be committed already while its follow-up work is not done. A fetch changes nothing.
        let changes_nothing = method.is_safe() || git::is_fetch(&method, path);
        let result = if changes_nothing { handling.await } else { tasks.carry(handling).await };
        let response = match result {
            Ok(response) => etag::apply(response, &method, if_none_match.as_ref()),
            Err(panic) => {
                tracing::error!(request_id = id.as_str(), panic = panic_text(&*panic), "a handler panicked");
                ApiError::internal().into_response()
            }
        };
        let status = response.status().as_u16();
        if !method.is_safe() && response.status().is_success() && path.starts_with("/api/") {
            state.access_changes.notify();
        }
        state.metrics.count_request(&method, path, status, started);
        if status >= 500 {
            tracing::warn!(request_id = id.as_str(), %method, path, status, "a request failed");
        }
        let mut response = complete(response, &state.root_url, &uri, id.as_str());
        let headers = response.headers_mut();
        id.set(headers, path);
        if query_token(uri.query()).is_some() && path.starts_with("/api/") {
            headers.insert(WARNING, HeaderValue::from_static("tokens in the query are deprecated, send a header"));
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
        match entry {
            Some(entry) => entry.follow(response),
            None => response,
        }
    }
}

impl Handler for HttpService {
    type Body = Body;

    fn handle(
        self,
        peer: Peer,
        request: Request<IncomingBody>,
    ) -> impl Future<Output = Response<Body>> + Send + 'static {
        self.respond(peer, request)
    }

    fn refuse(&self, request: &Request<hyper::body::Incoming>) -> Response<Body> {
        let Shared { state, ids, .. } = &*self.0;
        let (id, uri) = (ids.next(), request.uri());
        let mut response = complete(Refusal::Busy.response(uri.path()), &state.root_url, uri, id.as_str());
        id.set(response.headers_mut(), uri.path());
        response
    }
}

/// Returns the response to `request`: the refusal if there is one, else the response of its route.
async fn answer(state: AppState, router: Router, refusal: Option<Refusal>, request: Request<Body>) -> Response<Body> {
    match refusal {
        Some(refusal) => refusal.response(request.uri().path()),
        None => route(state, router, request).await,
    }
}

/// Returns the response of the route that `request` belongs to.
async fn route(state: AppState, router: Router, request: Request<Body>) -> Response<Body> {
    if request.headers().contains_key(ATTEMPT) {
        // A hook whose target is a farrier could trigger the event that it delivers, in an endless loop.
        let reason = "this is a delivery of a webhook, which no farrier receives";
        return ApiError::new(StatusCode::LOOP_DETECTED, reason).into_response();
    }
    if let Some(refusal) = browser::refusal(&state, &request) {
        return refusal;
    }
    let path = request.uri().path();
    if is_text(path) {
        return match router.oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
    }
    if path.starts_with("/_blob/") {
        return BlobApiError::invalid_address().into_response();
    }
    ApiError::no_route().into_response()
}

/// Returns whether the percent-encoding of a path decodes to UTF-8.
///
/// Other paths cannot name anything, so no route sees them. Twirp does not decode paths.
pub(crate) fn is_text(path: &str) -> bool {
    !path.contains('%') || path.starts_with("/twirp") || percent_decode_str(path).decode_utf8().is_ok()
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)")
}

/// Returns `uri` without repeated slashes in the path and without a slash at its end. Escapes the slashes of a ref that
/// is followed by other segments, because a capture with slashes must end a route.
pub(crate) fn canonical(uri: Uri) -> Uri {
    let path = uri.path();
    if !path.contains("//") && (path.len() <= 1 || !path.ends_with('/')) && !path.contains("/commits/") {
        return uri;
    }
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let path = match &segments[..] {
        ["api", "v1", "repos", owner, name, "commits", revision @ .., last @ ("status" | "statuses")] => {
            format!("/api/v1/repos/{owner}/{name}/commits/{}/{last}", revision.join("%2F"))
        }
        segments => format!("/{}", segments.join("/")),
    };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{path}{query}").parse().unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_decode_to_utf8_are_text() {
        for (path, expected) in
            [("/a%2Fb", true), ("/%", true), ("/%ff", false), ("/a/%c0%ae", false), ("/twirp/%ff", true)]
        {
            assert_eq!(is_text(path), expected, "{path}");
        }
    }

    #[test]
    fn request_ids_are_unique() {
        let ids = RequestIds::new();
        let many: std::collections::HashSet<RequestId> = (0..1_000).map(|_| ids.next()).collect();
        assert_eq!(many.len(), 1_000);
        assert!(many.iter().all(|id| id.as_str().bytes().all(|digit| digit.is_ascii_hexdigit())));
    }

    #[test]
    fn repeated_and_trailing_slashes_are_removed() {
        for (given, expected) in [
            ("/api/v1/version", "/api/v1/version"),
            ("/api//v1/version/", "/api/v1/version"),
            ("//a///b//?x=//", "/a/b?x=//"),
            ("/", "/"),
            ("///", "/"),
            ("/a%2Fb/", "/a%2Fb"),
            ("/api/v1/repos/o/r/commits/main/status", "/api/v1/repos/o/r/commits/main/status"),
            ("/api/v1/repos/o/r/commits/a/b//statuses/?page=2", "/api/v1/repos/o/r/commits/a%2Fb/statuses?page=2"),
            ("/o/r/commits/a/status", "/o/r/commits/a/status"),
        ] {
            assert_eq!(canonical(given.parse().expect("a path")).to_string(), expected, "{given}");
        }
    }
}
