//! Conditional changes: entity tags with a revision, and the header `If-Match` (RFC 9110, 13.1.1).
//!
//! The `ETag` of an editable object is `W/"BODY-REVISION"`. `If-None-Match` compares the complete tag, so a response
//! whose counters changed is sent again. `If-Match` compares the revision only, so a delivery or a push does not make
//! an edit fail.

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, header, request::Parts};
use serde::Serialize;

use super::extract::JsonResponse;
use crate::model::revision::{Expected, Revision};

/// Hexadecimal digits of a revision.
const DIGITS: usize = 16;

/// Extracts the revisions at which the client accepts the change. Any revision without `If-Match`.
pub(super) struct IfMatch(pub(super) Expected);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(expected(&parts.headers)))
    }
}

/// Reads `If-Match`. A tag in an unknown format matches no revision, so the change is refused.
pub(super) fn expected(headers: &HeaderMap) -> Expected {
    let mut values = headers.get_all(header::IF_MATCH).iter().peekable();
    if values.peek().is_none() {
        return Expected::Any;
    }
    let mut revisions = Vec::new();
    for tag in values.filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(',')) {
        match tag.trim() {
            "*" => return Expected::Any,
            tag => revisions.extend(revision_in(tag)),
        }
    }
    Expected::OneOf(revisions)
}

/// Returns the revision in an entity tag.
fn revision_in(tag: &str) -> Option<Revision> {
    // A proxy that compresses makes strong tags weak, so both are read.
    let tag = tag.strip_prefix("W/").unwrap_or(tag).strip_prefix('"')?.strip_suffix('"')?;
    let (_, digits) = tag.rsplit_once('-')?;
    let is_ours = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then(|| u64::from_str_radix(digits, 16).ok()).flatten().map(Revision)
}

/// A JSON response whose `ETag` can be sent back in `If-Match`.
pub(super) struct Editable<T>(pub(super) JsonResponse<T>, pub(super) Revision);

impl<T: Serialize> IntoResponse for Editable<T> {
    fn into_response(self) -> Response {
        let Self(output, revision) = self;
        let mut response = output.into_response();
        let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()?.strip_suffix('"'));
        let tag = tag.and_then(|tag| HeaderValue::try_from(format!("{tag}-{:016x}\"", revision.0)).ok());
        if let Some(tag) = tag {
            response.headers_mut().insert(header::ETAG, tag);
            response.extensions_mut().insert(HasRevision);
        }
        response
    }
}

/// Marks a response whose tag holds a revision. Such a tag is also sent after a change, so that the client can edit
/// again without reading the object first.
#[derive(Clone, Copy)]
pub(super) struct HasRevision;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::extract::ok;

    fn read(values: &[&'static str]) -> Expected {
        expected(&values.iter().map(|value| (header::IF_MATCH, HeaderValue::from_static(value))).collect())
    }

    #[test]
    fn the_revision_of_a_tag_is_read_back() {
        let response = Editable(ok(serde_json::json!({})), Revision(0xab)).into_response();
        let tag = response.headers()[header::ETAG].clone();
        let headers = HeaderMap::from_iter([(header::IF_MATCH, tag)]);
        assert_eq!(expected(&headers), Expected::OneOf(vec![Revision(0xab)]));
    }

    #[test]
    fn if_match_values_are_parsed_in_all_spellings() {
        let one = || Expected::OneOf(vec![Revision(1)]);
        assert_eq!([read(&[]), read(&["*"]), read(&["\"x\", *"])], [Expected::Any, Expected::Any, Expected::Any]);
        assert_eq!(read(&["\"a-0000000000000001\""]), one());
        assert_eq!(read(&["W/\"a-0000000000000001\""]), one());
        assert_eq!(read(&["\"other\"", "\"x\" , W/\"a-0000000000000001\""]), one());
    }

    #[test]
    fn a_condition_that_cannot_be_read_matches_nothing() {
        let spellings = ["", "a-0000000000000001", "\"a-1\"", "\"a-000000000000000g\"", "\"-+00000000000000a\"", "\""];
        for bad in spellings {
            assert_eq!(read(&[bad]), Expected::OneOf(Vec::new()), "{bad}");
        }
    }
}
