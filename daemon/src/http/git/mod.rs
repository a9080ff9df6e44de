//! Git over HTTP: fetch and push in the smart protocol.
//!
//! Errors are plain text, because git shows the body of an error response. Permissions are checked before git starts.
//! Bytes stream in both directions with bounded memory, and a git process is killed when its client disconnects. The
//! dumb protocol is not supported, because it cannot hide refs and its requests cause no events.

mod access;
mod bundles;
mod error;
mod fetch;
mod output_body;
mod request_body;

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, Request, State},
    response::{IntoResponse as _, Response},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};

use self::{access::allow, output_body::into_body};
pub(super) use self::{
    access::allow_identity,
    bundles::{bundle, is_bundle},
    error::GitFailure,
};
use super::{AppState, error::ApiError};
use crate::{
    git::{pkt, ref_list::RefList},
    service::{
        bundles::are_offered as are_bundles_offered,
        transfers::{
            Allowed, GitService, NoInput,
            fetch::stream,
            fetch_answer::ref_answer,
            protocol_version,
            push::{self, Pushed},
            refs,
        },
    },
    shares::RequestMemory,
};

/// Returns an error response for git clients.
pub(super) fn failure(status: StatusCode, text: impl Into<String>) -> Response {
    GitFailure::new(status, text).into_response()
}

/// First path segments of other protocols. No owner can have these names.
pub(super) const NOT_OWNERS: [&str; 3] = ["api", "twirp", "_blob"];

/// Returns whether a request is a fetch: `POST …/git-upload-pack`.
pub(super) fn is_fetch(method: &Method, path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    *method == Method::POST
        && parts.next().is_some_and(|owner| !NOT_OWNERS.contains(&owner))
        && parts.next().is_some()
        && parts.next() == Some("git-upload-pack")
        && parts.next().is_none()
}

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
    let Some(service) = GitService::named(&word) else { return GitFailure::unknown_service().into_response() };
    let result = match allow(&state, &parts, &repository, service).await {
        Ok(allowed) => advertise(&state, &allowed, service, &parts).await,
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
    serve(state, repository, request, GitService::Upload).await
}

/// `POST …/git-receive-pack`
pub(super) async fn receive_pack(
    State(state): State<AppState>,
    Path(repository): Path<(String, String)>,
    request: Request,
) -> Response {
    serve(state, repository, request, GitService::Receive).await
}

async fn serve(state: AppState, repository: (String, String), request: Request, service: GitService) -> Response {
    if NOT_OWNERS.contains(&repository.0.as_str()) {
        return ApiError::no_route().into_response();
    }
    let (parts, body) = request.into_parts();
    let handling = async {
        let allowed = allow(&state, &parts, &repository, service).await?;
        let input = request_body::RequestBody::new(&parts, body, service, state.git.max_push_bytes())?;
        match service {
            GitService::Upload => fetch::serve(state, allowed, input, protocol(&parts.headers)).await,
            GitService::Receive => Ok(result(service, push(&state, allowed, input).await?)),
        }
    };
    handling.await.unwrap_or_else(GitFailure::into_response)
}

async fn advertise(
    state: &AppState,
    allowed: &Allowed,
    service: GitService,
    Parts { headers, extensions, .. }: &Parts,
) -> Result<Response, GitFailure> {
    let mut prefix = BytesMut::new();
    pkt::put(&mut prefix, format!("# service=git-{}\n", service.command()).as_bytes());
    pkt::put_flush(&mut prefix);
    let repository = &allowed.repository;
    let protocol = protocol(headers).unwrap_or_default();
    let content_type = format!("application/x-git-{}-advertisement", service.command());
    if service == GitService::Upload && protocol == "version=2" {
        let (id, sha256) = (repository.id, repository.sha256);
        let capabilities = if are_bundles_offered(state, repository) {
            state.git.fetch_capabilities_with_bundles(id, sha256).await?
        } else {
            state.git.fetch_capabilities(id, sha256).await?
        };
        prefix.extend_from_slice(&capabilities);
        return Ok(response(&content_type, Body::from(prefix.freeze())));
    }
    // Version 1 has a different first line. No common client uses it, so git itself answers.
    if service == GitService::Receive && !protocol.contains("version=1") {
        let capabilities = state.git.push_capabilities(repository.id, repository.sha256).await?;
        let memory = extensions.get::<Arc<RequestMemory>>().map(|memory| &**memory);
        let (mut answer, sha256) = (prefix.clone(), repository.sha256);
        let write = move |list: &RefList| {
            refs::put_advertisement(&mut answer, list, &capabilities, sha256);
            Some(answer)
        };
        if let Some(answer) = ref_answer(state, allowed, memory, write).await? {
            return Ok(response(&content_type, Body::from(answer)));
        }
    }
    let call = state.git.call(repository.id, [service.command(), "--stateless-rpc", "--advertise-refs"]);
    let call = call.args([state.git.directory(repository.id)]).env("GIT_PROTOCOL", protocol);
    let output = stream(state, allowed, call, NoInput).await?;
    Ok(response(&content_type, into_body(output, prefix.freeze()).await?))
}

/// Handles a push. Returns the body of the response.
async fn push(state: &AppState, allowed: Allowed, input: request_body::RequestBody) -> Result<Body, GitFailure> {
    match push::serve(state, allowed, input).await? {
        Pushed::Answered(answer) => Ok(Body::from(answer)),
        Pushed::Running(output) => into_body(output, EMPTY).await,
    }
}

/// Returns the protocol version that the client requests.
fn protocol(headers: &HeaderMap) -> Option<&str> {
    protocol_version(headers.get("git-protocol")?.to_str().ok()?)
}

/// Returns 200 with headers that forbid caching.
fn response(content_type: &str, body: Body) -> Response {
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
fn result(service: GitService, body: impl Into<Body>) -> Response {
    response(&format!("application/x-git-{}-result", service.command()), body.into())
}

/// No bytes.
const EMPTY: Bytes = Bytes::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_posts_to_the_fetch_address_of_a_repository_are_fetches() {
        for (method, path, expected) in [
            (Method::POST, "/admin/demo.git/git-upload-pack", true),
            (Method::POST, "/admin/demo/git-upload-pack", true),
            (Method::PUT, "/admin/demo/git-upload-pack", false),
            (Method::POST, "/admin/demo/git-receive-pack", false),
            (Method::POST, "/api/demo/git-upload-pack", false),
            (Method::POST, "/api/v1/repos/admin/demo/contents/git-upload-pack", false),
            (Method::POST, "/admin/demo.git/info/git-upload-pack", false),
            (Method::POST, "/admin/demo/git-upload-pack/x", false),
            (Method::POST, "/git-upload-pack", false),
        ] {
            assert_eq!(is_fetch(&method, path), expected, "{method} {path}");
        }
    }
}
