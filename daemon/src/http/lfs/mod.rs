//! Git LFS over HTTP: the batch API, the transfer of objects, and locks.
//!
//! The batch API and locks authenticate callers as git over HTTP does, or with a token of `git-lfs-authenticate`.
//! Objects are transferred with signed addresses, which contain no credentials.

mod access;
mod batch;
mod failure;
mod locks;
mod objects;

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header, request::Parts};
use serde::{Serialize, de::DeserializeOwned};

use self::failure::LfsFailure;
pub(super) use self::{
    batch::{BatchRequest, batch},
    failure::failure,
    locks::{list as locks, lock, unlock, verify as verify_locks},
    objects::{download, upload, verify},
};
use super::{
    AppState,
    error::ApiError,
    extract::{self, to_json},
};

/// The content type of requests and responses.
const JSON: &str = "application/vnd.git-lfs+json";

/// Returns whether a path belongs to Git LFS.
pub(super) fn is_lfs(path: &str) -> bool {
    path.split('/').skip(3).take(2).eq(["info", "lfs"])
}

/// Returns a JSON response that must not be cached.
fn json<T: Serialize>(status: StatusCode, body: &T) -> Response {
    let mut response = (status, to_json(body)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    response
}

/// Reads and parses a JSON request body.
async fn body<T: DeserializeOwned>(state: &AppState, parts: &Parts, body: Body) -> Result<T, LfsFailure> {
    let limit = state.config.server.max_body_bytes;
    let bytes = extract::collect(&parts.extensions, body, limit).await.map_err(ApiError::from)?;
    Ok(extract::parse(&parts.headers, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_paths_below_info_lfs_of_a_repository_belong_to_lfs() {
        for (path, expected) in [
            ("/a/b.git/info/lfs/locks", true),
            ("/a/b/info/lfs/objects/batch", true),
            ("/a/b/info/lfs", true),
            ("/a/b/info/refs", false),
            ("/info/lfs/x", false),
            ("/api/v1/repos/a/b/raw/info/lfs/x", false),
        ] {
            assert_eq!(is_lfs(path), expected, "{path}");
        }
    }
}
