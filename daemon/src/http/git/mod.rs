//! Git over HTTP: fetch and push in the smart protocol.
//!
//! Errors are plain text, because git shows the body of an error response. Permissions are checked before git starts.
//! Bytes stream in both directions with bounded memory, and a git process is killed when its client disconnects. The
//! dumb protocol is not supported, because it cannot hide refs and its requests cause no events.

mod access;
mod error;
mod fetch;
mod output;
mod push;
mod refs;
mod request_body;
mod spool;
mod stall_timer;

use axum::{
    extract::{Path, Request, State},
    response::{IntoResponse as _, Response},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use self::{
    access::{Allowed, allow},
    error::GitFailure,
};
use super::{AppState, error::ApiError};
use crate::git::pkt;

/// Returns an error response for git clients.
pub(super) fn failure(status: StatusCode, text: impl Into<String>) -> Response {
    GitFailure::new(status, text).into_response()
}

/// The service that a git client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    /// `git-upload-pack`: fetch.
    Upload,
    /// `git-receive-pack`: push.
    Receive,
}

impl Service {
    fn named(word: &str) -> Option<Self> {
        match word {
            "git-upload-pack" => Some(Self::Upload),
            "git-receive-pack" => Some(Self::Receive),
            _ => None,
        }
    }

    /// Returns the git command.
    fn command(self) -> &'static str {
        match self {
            Self::Upload => "upload-pack",
            Self::Receive => "receive-pack",
        }
    }
}

/// First path segments of other protocols. No owner can have these names.
const NOT_OWNERS: [&str; 3] = ["api", "twirp", "_blob"];

/// `GET …/info/refs?service=…`: lists the refs and the capabilities of a service.
pub(super) async fn info_refs(
    State(state): State<AppState>,
    Path(repository): Path<(String, String)>,
    request: Request,
) -> Response {
    if NOT_OWNERS.contains(&repository.0.as_str()) {
        return ApiError::no_route().into_response();
    }
    let (parts, _) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    let word = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "service").map(|(_, word)| word);
    let Some(word) = word else { return GitFailure::dumb_protocol().into_response() };
    let Some(service) = Service::named(&word) else { return GitFailure::unknown_service().into_response() };
    let result = match allow(&state, &parts, &repository, service).await {
        Ok(allowed) => advertise(&state, &allowed, service, &parts.headers).await,
        Err(failure) => Err(failure),
    };
    result.unwrap_or_else(GitFailure::into_response)
}

/// `POST …/git-upload-pack`
pub(super) async fn upload_pack(
    State(state): State<AppState>,
    Path(repository): Path<(String, String)>,
    request: Request,
) -> Response {
    serve(state, repository, request, Service::Upload).await
}

/// `POST …/git-receive-pack`
pub(super) async fn receive_pack(
    State(state): State<AppState>,
    Path(repository): Path<(String, String)>,
    request: Request,
) -> Response {
    serve(state, repository, request, Service::Receive).await
}

async fn serve(state: AppState, repository: (String, String), request: Request, service: Service) -> Response {
    if NOT_OWNERS.contains(&repository.0.as_str()) {
        return ApiError::no_route().into_response();
    }
    let (parts, body) = request.into_parts();
    let handling = async {
        let allowed = allow(&state, &parts, &repository, service).await?;
        let input = request_body::RequestBody::new(&parts, body, service, state.git.max_push_bytes())?;
        match service {
            Service::Upload => fetch::serve(state, allowed, input, protocol(&parts.headers)).await,
            Service::Receive => push::serve(state, allowed, input).await,
        }
    };
    handling.await.unwrap_or_else(GitFailure::into_response)
}

async fn advertise(
    state: &AppState,
    allowed: &Allowed,
    service: Service,
    headers: &HeaderMap,
) -> Result<Response, GitFailure> {
    let mut prefix = BytesMut::new();
    pkt::put(&mut prefix, format!("# service=git-{}\n", service.command()).as_bytes());
    pkt::put_flush(&mut prefix);
    let repository = &allowed.found.repository;
    let protocol = protocol(headers).unwrap_or_default();
    let content_type = format!("application/x-git-{}-advertisement", service.command());
    if service == Service::Upload && protocol == "version=2" {
        let capabilities = state.git.fetch_capabilities(repository.id, repository.sha256).await?;
        prefix.extend_from_slice(&capabilities);
        return Ok(response(&content_type, axum::body::Body::from(prefix.freeze())));
    }
    // Version 1 has a different first line. No common client uses it, so git itself answers.
    if service == Service::Receive
        && !protocol.contains("version=1")
        && let Some(list) = state.git.ref_list(repository.id).await?
    {
        let capabilities = state.git.push_capabilities(repository.id, repository.sha256).await?;
        prefix.unsplit(refs::advertisement(&list, &capabilities, repository.sha256));
        return Ok(response(&content_type, axum::body::Body::from(prefix.freeze())));
    }
    let call = state.git.call(repository.id, [service.command(), "--stateless-rpc", "--advertise-refs"]);
    let call = call.args([state.git.directory(repository.id)]).env("GIT_PROTOCOL", protocol);
    let body = fetch::stream(state, allowed, call, request_body::RequestBody::empty(), prefix.freeze()).await?;
    Ok(response(&content_type, body))
}

/// Returns the protocol version that the client requests. `None` if the header has characters other than letters,
/// digits, `:` and `=`, because the value is put into git's environment.
fn protocol(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get("git-protocol")?.to_str().ok()?;
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric());
    let pair = |pair: &str| match pair.split_once('=') {
        Some((key, value)) => word(key) && word(value),
        None => word(pair),
    };
    (text.len() <= 256 && text.split(':').all(pair)).then_some(text)
}

/// Returns 200 with headers that forbid caching.
fn response(content_type: &str, body: axum::body::Body) -> Response {
    let mut response = Response::new(body);
    if let Ok(value) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    uncached(response.headers_mut());
    response
}

fn uncached(headers: &mut HeaderMap) {
    let fixed: [(HeaderName, &'static str); 3] = [
        (header::EXPIRES, "Fri, 01 Jan 1980 00:00:00 GMT"),
        (header::PRAGMA, "no-cache"),
        (header::CACHE_CONTROL, "no-cache, max-age=0, must-revalidate"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Returns the response to a POST request.
fn result(service: Service, body: impl Into<axum::body::Body>) -> Response {
    response(&format!("application/x-git-{}-result", service.command()), body.into())
}

/// No bytes.
const EMPTY: Bytes = Bytes::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_git_protocol_values_are_passed_to_git() {
        let shown = |text: &str| {
            let headers =
                HeaderMap::from_iter([(HeaderName::from_static("git-protocol"), text.parse().expect("a value"))]);
            protocol(&headers).map(str::to_owned)
        };
        for good in ["version=2", "version=1", "version=2:object=sha1", "a"] {
            assert_eq!(shown(good).as_deref(), Some(good));
        }
        for bad in ["", "version=2;rm", "version=2:", "=2", "version=", "a=b=c", "version=2 x", "version=$(id)"] {
            assert_eq!(shown(bad), None, "{bad}");
        }
        assert_eq!(shown(&"a".repeat(257)), None);
    }
}
