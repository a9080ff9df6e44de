//! The bytes of prepared bundles, and the list of them in protocol version 2.

use axum::{
    body::Body,
    extract::{Path, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};

use super::{EMPTY, NOT_OWNERS, access::allow, error::GitFailure, output_body::into_body, uncached};
use crate::{
    file_parts::SendsFiles,
    http::{
        AppState,
        artifact::range::RequestedRange,
        error::ApiError,
        etag::{is_known, not_modified},
        v1::browse::raw::requested_range,
    },
    service::{
        access::Action,
        access_watch::AccessWatch,
        bundles,
        transfers::{Allowed, GitService, shared_fetch},
    },
};

/// Returns whether a path is that of a bundle.
pub(in crate::http) fn is_bundle(path: &str) -> bool {
    let mut parts = path.split('/').skip(3);
    parts.next() == Some("bundles") && parts.next().is_some_and(|file| !file.is_empty()) && parts.next().is_none()
}

/// `GET …/bundles/{file}`: sends a bundle to callers who may fetch.
pub(in crate::http) async fn bundle(
    State(state): State<AppState>,
    Path((owner, name, file)): Path<(String, String, String)>,
    request: Request,
) -> Response {
    if NOT_OWNERS.contains(&owner.as_str()) {
        return ApiError::no_route().into_response();
    }
    let (parts, _) = request.into_parts();
    let sent = match allow(&state, &parts, &(owner, name), GitService::Upload).await {
        Ok(allowed) => send(&state, &allowed, &parts, &file).await,
        Err(failure) => Err(failure),
    };
    sent.unwrap_or_else(GitFailure::into_response)
}

async fn send(state: &AppState, allowed: &Allowed, parts: &Parts, file: &str) -> Result<Response, GitFailure> {
    let missing = || GitFailure::new(StatusCode::NOT_FOUND, "Bundle not found");
    let token = file.strip_suffix(".bundle").ok_or_else(missing)?;
    // From here on: the rights of the caller were just checked.
    let read = Some((allowed.repository.id, Action::Read));
    let access = AccessWatch::new(state, allowed.identity.clone(), read);
    let found = bundles::open(state, &allowed.repository, allowed.holder, token).await.ok_or_else(missing)?;
    let (size, etag) = (found.size, format!("\"{token}\""));
    let mut headers = HeaderMap::new();
    uncached(&mut headers);
    set(&mut headers, header::ETAG, &etag);
    set(&mut headers, header::ACCEPT_RANGES, "bytes");
    if is_known(&parts.headers, &etag) {
        return Ok(not_modified(headers));
    }
    set(&mut headers, header::CONTENT_TYPE, "application/octet-stream");
    // Pushed content must not run scripts with the origin of this host.
    set(&mut headers, header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'");
    let (status, range) = match requested_range(&parts.headers, &etag, size) {
        RequestedRange::Whole => (StatusCode::OK, 0..size),
        RequestedRange::Part(range) => {
            set(&mut headers, header::CONTENT_RANGE, &format!("bytes {}-{}/{size}", range.start, range.end - 1));
            (StatusCode::PARTIAL_CONTENT, range)
        }
        RequestedRange::Unsatisfiable => {
            let text = format!("the bundle has {size} bytes");
            let mut response = GitFailure::new(StatusCode::RANGE_NOT_SATISFIABLE, text).into_response();
            set(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{size}"));
            return Ok(response);
        }
    };
    headers.insert(header::CONTENT_LENGTH, (range.end - range.start).into());
    let body = if parts.method == Method::HEAD {
        Body::empty()
    } else {
        let sends_files = parts.extensions.get::<SendsFiles>().copied();
        let sent = shared_fetch::send_bundle(state, allowed, access, found.file, range, sends_files).await?;
        into_body(sent, EMPTY).await?
    };
    Ok((status, headers, body).into_response())
}

fn set(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_in_the_directory_bundles_of_a_repository_are_bundles() {
        for (path, expected) in [
            ("/a/b.git/bundles/0a.bundle", true),
            ("/a/b/bundles/x", true),
            ("/a/b/bundles/", false),
            ("/a/b/bundles", false),
            ("/a/b/bundles/x/y", false),
            ("/a/bundles/x", false),
            ("/api/v1/repos/a/b/raw/bundles/x.bundle", false),
        ] {
            assert_eq!(is_bundle(path), expected, "{path}");
        }
    }
}
