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

use super::{extract::JSON, if_match::HasRevision};

/// The tag of a JSON body; lists have none: they are pages of what changes all the time.
///
/// Weak, as a proxy may compress the body, and no protection against forgery: it is compared with one
/// of the same address and caller.
pub(super) fn of(status: StatusCode, body: &[u8]) -> Option<HeaderValue> {
    if status != StatusCode::OK || body.first() != Some(&b'{') {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(body);
    let mut tag = *b"W/\"0123456789abcdef\"";
    hex::encode_to_slice(hasher.finish().to_be_bytes(), &mut tag[3..19]).ok()?;
    HeaderValue::from_bytes(&tag).ok()
}

/// The answer to a request of `method` whose client has what `known` names.
pub(super) fn apply(mut response: Response, method: &Method, known: Option<&HeaderValue>) -> Response {
    let reads = method == Method::GET || method == Method::HEAD;
    if reads && known.is_none() || !is_object(response.headers()) {
        return response;
    }
    if !reads {
        // What has been changed is not what this address shows. A revision holds all the same.
        if response.extensions().get::<HasRevision>().is_none() {
            response.headers_mut().remove(header::ETAG);
        }
        return response;
    }
    let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()).unwrap_or_default();
    if !known.and_then(|known| known.to_str().ok()).is_some_and(|known| names(known, tag)) {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::NOT_MODIFIED;
    parts.headers.remove(header::CONTENT_TYPE);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::empty())
}

/// Whether the answer is an object in JSON that was tagged here.
fn is_object(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ETAG) && headers.get(header::CONTENT_TYPE).is_some_and(|value| value == JSON)
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
        let tag = |status, body: &str| of(status, body.as_bytes());
        let one = tag(StatusCode::OK, "{}").expect("a tag");
        assert!(one.len() == 20 && one.to_str().is_ok_and(|tag| tag.starts_with("W/\"") && tag.ends_with('"')));
        assert_eq!(tag(StatusCode::OK, "{}"), Some(one));
        assert_ne!(tag(StatusCode::OK, "{}"), tag(StatusCode::OK, "{ }"));
        assert_eq!(
            [tag(StatusCode::OK, "[]"), tag(StatusCode::CREATED, "{}"), tag(StatusCode::OK, "")],
            [None, None, None]
        );
    }
}
