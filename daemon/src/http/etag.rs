//! Entity tags: content that the client already has is not sent again (RFC 9110, 8.8.3 and 13.1.2).
//!
//! This module tags JSON objects by their content, for all routes. Files, archives and artifacts have their own ids;
//! their handlers set the tag.

use std::hash::{DefaultHasher, Hasher as _};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::{extract::JSON, if_match::HasRevision};

/// Returns the tag of a JSON body, or `None` for lists and for statuses other than 200.
///
/// The tag is weak because a proxy may compress the body. The hash need not resist forgery: a tag is only compared
/// with tags of the same address and caller.
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

/// Returns 304 if `if_none_match` names the tag of `response`, else `response`.
///
/// Removes the tag from responses to other methods than GET and HEAD, unless it holds a revision.
pub(super) fn apply(mut response: Response, method: &Method, if_none_match: Option<&HeaderValue>) -> Response {
    let is_read = method == Method::GET || method == Method::HEAD;
    if is_read && if_none_match.is_none() || !is_object(response.headers()) {
        return response;
    }
    if !is_read {
        // The body of a change need not be what GET on this address returns. A revision is valid in any case.
        if response.extensions().get::<HasRevision>().is_none() {
            response.headers_mut().remove(header::ETAG);
        }
        return response;
    }
    let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()).unwrap_or_default();
    if !if_none_match.and_then(|list| list.to_str().ok()).is_some_and(|list| names(list, tag)) {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::NOT_MODIFIED;
    parts.headers.remove(header::CONTENT_TYPE);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::empty())
}

/// Returns whether the response is a JSON object with a tag.
fn is_object(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ETAG) && headers.get(header::CONTENT_TYPE).is_some_and(|value| value == JSON)
}

/// Returns whether the client already has the content with the tag `etag`.
pub(super) fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.into_iter().any(|list| names(list, etag))
}

/// Returns 304 with the headers of the full response.
pub(super) fn not_modified(headers: HeaderMap) -> Response {
    (StatusCode::NOT_MODIFIED, headers).into_response()
}

/// Returns whether a list of tags contains `etag`, by weak comparison.
fn names(list: &str, etag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    list.split(',').any(|tag| tag.trim() == "*" || bare(tag) == bare(etag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_none_match_is_compared_weakly() {
        let headers =
            |value: &'static str| HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(value))]);
        for known in ["\"a\"", "\"x\", \"a\"", "W/\"a\"", "*"] {
            assert!(is_known(&headers(known), "\"a\""), "{known}");
        }
        assert!(is_known(&headers("\"a\""), "W/\"a\""));
        assert!(!is_known(&headers("\"ab\""), "\"a\"") && !is_known(&HeaderMap::new(), "\"a\""));
    }

    #[test]
    fn only_objects_with_status_200_have_tags() {
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
