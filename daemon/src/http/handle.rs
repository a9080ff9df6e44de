//! What happens to every request, whatever it asks: a request id, one spelling of the path, a
//! limit on standing still, security headers, one line in the log.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use axum::{Router, body::Body, response::IntoResponse as _};
use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue, Request, Response, Uri, header};
use hyper::body::Incoming;
use tower::ServiceExt as _;

use super::{
    body::Stalling,
    error::{ApiError, complete},
};
use crate::{model::secret, serve::Peer};

/// Finds a request in the log; in every answer.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The number of a request, 16 hexadecimal digits.
#[derive(Clone, Debug)]
pub(super) struct RequestId(pub(super) String);

/// The front of the router: what the accept loop calls.
#[derive(Clone)]
pub struct Front {
    router: Router,
    root_url: Arc<str>,
    idle_timeout: Duration,
}

impl Front {
    /// A front for `router`; a body that stands still for `idle_timeout` is given up.
    pub fn new(router: Router, root_url: &str, idle_timeout: Duration) -> Self {
        Self { router, root_url: root_url.into(), idle_timeout }
    }

    /// Answers one request.
    pub async fn handle(self, peer: Peer, request: Request<Incoming>) -> Response<Body> {
        let id = RequestId(hex::encode(secret::random_bytes::<8>()));
        let method = request.method().clone();
        let (mut parts, body) = request.into_parts();
        parts.uri = canonical(parts.uri);
        // The query is left out of every log line: signatures and tokens stand there.
        let path = parts.uri.path().to_owned();
        parts.extensions.insert(peer);
        parts.extensions.insert(id.clone());
        let body = Body::new(Stalling::new(body, self.idle_timeout));
        let uri = parts.uri.clone();
        let request = Request::from_parts(parts, body);

        let answer = AssertUnwindSafe(self.router.oneshot(request)).catch_unwind().await;
        let response = match answer {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(panic) => {
                tracing::error!(request_id = id.0, panic = panic_text(&*panic), "a handler panicked");
                ApiError::internal().into_response()
            }
        };
        let status = response.status().as_u16();
        if status >= 500 {
            tracing::warn!(request_id = id.0, %method, path, status, "answered");
        } else {
            tracing::debug!(request_id = id.0, %method, path, status, "answered");
        }
        let mut response = complete(response, &self.root_url, &uri, &id.0);
        let headers = response.headers_mut();
        if let Ok(id) = HeaderValue::from_str(&id.0) {
            headers.insert(REQUEST_ID, id);
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
        response
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)")
}

/// One spelling of each path: no doubled slashes, none at the end.
fn canonical(uri: Uri) -> Uri {
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
