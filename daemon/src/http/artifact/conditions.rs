//! Reads the conditional headers of block-blob requests, and writes the validators of content.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{
    model::conditions::{Conditions, Tags, Validators},
    show::http_date,
};

/// Returns the conditions in the headers of a request. Dates that cannot be read are ignored, as RFC 9110 requires; a
/// tag that cannot be read matches no content.
pub(super) fn read(headers: &HeaderMap) -> Conditions {
    Conditions {
        if_match: tags(headers, &header::IF_MATCH),
        if_none_match: tags(headers, &header::IF_NONE_MATCH),
        if_modified_since: date(headers, &header::IF_MODIFIED_SINCE),
        if_unmodified_since: date(headers, &header::IF_UNMODIFIED_SINCE),
    }
}

/// Adds `ETag` and `Last-Modified`.
pub(super) fn set_validators(headers: &mut HeaderMap, validators: &Validators) {
    let modified = http_date(validators.modified_secs);
    for (name, value) in [(header::ETAG, validators.etag.as_str()), (header::LAST_MODIFIED, modified.as_str())] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
}

fn tags(headers: &HeaderMap, name: &HeaderName) -> Option<Tags> {
    let mut values = headers.get_all(name).iter().peekable();
    values.peek()?;
    let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(',')).collect();
    let tags: Vec<String> = texts.iter().map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect();
    Some(if tags.iter().any(|tag| tag == "*") { Tags::Any } else { Tags::Listed(tags) })
}

/// Returns the time of a date header, in seconds since the epoch.
fn date(headers: &HeaderMap, name: &HeaderName) -> Option<i64> {
    let text = headers.get(name)?.to_str().ok()?;
    Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditional_headers_are_read() {
        let headers = HeaderMap::from_iter([
            (header::IF_MATCH, HeaderValue::from_static("\"a\", W/\"b\"")),
            (header::IF_NONE_MATCH, HeaderValue::from_static("*")),
            (header::IF_UNMODIFIED_SINCE, HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT")),
            (header::IF_MODIFIED_SINCE, HeaderValue::from_static("yesterday")),
        ]);
        let expected = Conditions {
            if_match: Some(Tags::Listed(vec!["\"a\"".into(), "W/\"b\"".into()])),
            if_none_match: Some(Tags::Any),
            if_modified_since: None,
            if_unmodified_since: Some(784_111_777),
        };
        assert_eq!(read(&headers), expected);
        assert_eq!(read(&HeaderMap::new()), Conditions::default());
    }
}
