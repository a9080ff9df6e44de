//! Entity tags: what a client has already is not sent again (RFC 9110, 8.8.3 and 13.1.2).
//!
//! Objects in JSON are tagged by what is in them, here, once for all routes. What has an id of its own
//! (files, archives, artifacts) says its tag where it is served.

use std::hash::{DefaultHasher, Hasher as _};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// The tag of a JSON object, on its way to the answer's headers.
#[derive(Clone, Copy)]
pub(super) struct Tag(u64);

impl Tag {
    /// The tag of a body; lists have none: they are pages of what changes all the time.
    pub(super) fn of(status: StatusCode, body: &[u8]) -> Option<Self> {
        if status != StatusCode::OK || body.first() != Some(&b'{') {
            return None;
        }
        // Not against forgery: a tag is compared with one of the same address and caller.
        let mut hasher = DefaultHasher::new();
        hasher.write(body);
        Some(Self(hasher.finish()))
    }
}

/// The answer to a request of `method` whose client has what `known` names.
pub(super) fn apply(mut response: Response, method: &Method, known: Option<&HeaderValue>) -> Response {
    let Some(Tag(tag)) = response.extensions_mut().remove() else { return response };
    if method != Method::GET && method != Method::HEAD {
        return response;
    }
    // Weak: a proxy may compress the body.
    let tag = format!("W/\"{tag:016x}\"");
    let unchanged = known.and_then(|known| known.to_str().ok()).is_some_and(|known| names(known, &tag));
    if let Ok(value) = HeaderValue::try_from(tag) {
        response.headers_mut().insert(header::ETAG, value);
    }
    if !unchanged {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::NOT_MODIFIED;
    parts.headers.remove(header::CONTENT_TYPE);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::empty())
}

/// Whether the client has `etag` already.
pub(super) fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.into_iter().any(|known| names(known, etag))
}

/// 304 with the headers that the whole answer would have.
pub(super) fn not_modified(headers: HeaderMap) -> Response {
    (StatusCode::NOT_MODIFIED, headers).into_response()
}

/// Whether a list of tags names `etag`, however weak either is.
fn names(list: &str, etag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    list.split(',').any(|tag| tag.trim() == "*" || bare(tag) == bare(etag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_content() {
        let headers =
            |value: &'static str| HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(value))]);
        for known in ["\"a\"", "\"x\", \"a\"", "W/\"a\"", "*"] {
            assert!(is_known(&headers(known), "\"a\""), "{known}");
        }
        assert!(is_known(&headers("\"a\""), "W/\"a\""));
        assert!(!is_known(&headers("\"ab\""), "\"a\"") && !is_known(&HeaderMap::new(), "\"a\""));
    }

    #[test]
    fn objects_have_tags_and_nothing_else() {
        let tag = |status, body: &str| Tag::of(status, body.as_bytes()).map(|tag| tag.0);
        assert_eq!(tag(StatusCode::OK, "{}"), tag(StatusCode::OK, "{}"));
        assert_ne!(tag(StatusCode::OK, "{}"), tag(StatusCode::OK, "{ }"));
        assert_eq!([tag(StatusCode::OK, "[]"), tag(StatusCode::CREATED, "{}"), tag(StatusCode::OK, "")], [None; 3]);
    }
}
