//! Checks that must hold for every input of the parsers of queries, headers and JSON bodies. See [`crate::fuzzing`].

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use farrier_common::api;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;

use super::{
    auth, etag, extract,
    farrier::{artifacts, deleted, hooks},
    if_match,
    lfs::BatchRequest,
    page::{LIMIT_DEFAULT, PageQuery},
    query,
};
use crate::{
    model::{host_names, revision::Expected},
    service::authentication::Credentials,
};

/// Largest page of any list.
const PAGE_MAX: usize = 1_000;
/// Words of the filters in [`list_query`].
const WORDS: [(&str, u8); 3] = [("newest", 1), ("expiry", 2), ("true", 3)];
/// Parameters of lists.
const PARAMETERS: [&str; 10] = ["q", "sort", "order", "state", "cursor", "page", "limit", "since", "run", "active"];

/// Checks the queries of lists: pages have valid sizes, words are known ones, and a cursor parses to the same position
/// when it is written again.
pub fn list_query(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let given = Some(text);
    let pages = [PageQuery::of, PageQuery::of_actions, PageQuery::of_deliveries, PageQuery::of_trees];
    for page in pages.map(|read| read(given)) {
        assert!(page.number >= 1 && (1..=PAGE_MAX).contains(&page.limit), "{text:?}: {page:?}");
        let (skip, limit) = page.window();
        assert!(skip.checked_rem(limit as u64) == Some(0) || skip == u64::MAX, "{text:?}: {page:?}");
    }
    assert_eq!(PageQuery::of(None).limit, LIMIT_DEFAULT);
    for name in PARAMETERS {
        let Some(value) = query::value(given, name) else { continue };
        assert!(!value.is_empty(), "{text:?}");
        if let Ok(Some(meaning)) = query::one_of(given, name, &WORDS) {
            assert!(WORDS.contains(&(value.as_str(), meaning)), "{value:?} has the meaning of another word");
        }
        if let Ok(meanings) = query::several_of(given, name, &WORDS) {
            assert!(meanings.len() <= text.len(), "{text:?}");
        }
        if let Ok(Some(number)) = query::number(given, name) {
            assert_eq!(value.parse(), Ok(number));
        }
        let _ = query::flag(given, name);
        let _ = query::time("since", &value);
        cursor(&value);
    }
    let _ = auth::query_token(given);
}

/// Checks a cursor: an accepted one parses to the same position when it is written again.
fn cursor(text: &str) {
    if let Ok(position) = artifacts::cursor(text) {
        let formatted = format!("{}-{}", position.ms, position.id);
        assert!(artifacts::cursor(&formatted).is_ok_and(|again| (again.ms, again.id) == (position.ms, position.id)));
    }
    if let Ok((ms, id)) = deleted::cursor(text)
        && ms >= 0
    {
        assert!(deleted::cursor(&format!("{ms}-{id}")).is_ok_and(|again| again == (ms, id)), "{text:?}");
    }
    if let Ok(position) = hooks::cursor(text) {
        let formatted = format!("{}-{}", hex::encode(&position.key), position.id);
        let again = hooks::cursor(&formatted);
        assert!(again.is_ok_and(|again| (again.key, again.id) == (position.key, position.id)), "{text:?}");
    }
}

/// Checks the body of a batch request of Git LFS: the parsed objects are exactly those that were sent.
pub fn lfs_batch(input: &[u8]) {
    let Ok(request) = serde_json::from_slice::<BatchRequest>(input) else { return };
    for (sent, parsed) in request.parsed() {
        let Some(parsed) = parsed else { continue };
        assert_eq!(sent.oid.as_str(), Some(hex::encode(parsed.oid).as_str()));
        assert_eq!(sent.size.as_u64(), Some(parsed.size));
    }
}

/// Checks the `Authorization` header: accepted credentials are exactly those that were sent.
pub fn authorization(input: &[u8]) {
    let Some(headers) = with(header::AUTHORIZATION, input) else { return };
    let Ok(Some(credentials)) = auth::credentials_of(&headers) else { return };
    let text = std::str::from_utf8(input).expect("only text is accepted");
    match credentials {
        Credentials::Token(token) => {
            assert!(!token.is_empty() && text.ends_with(&token) || text.trim().ends_with(&token), "{text:?}");
        }
        Credentials::Basic { name, password } => {
            assert!(!name.contains(':'), "{text:?}");
            let encoded = BASE64.encode(format!("{name}:{password}"));
            assert!(text.contains(&encoded), "{text:?} has other credentials than {encoded}");
        }
    }
    if let Some(token) = auth::bearer(&headers) {
        assert!(text.contains(token), "{text:?}");
    }
}

/// Checks `If-Match` and `If-None-Match`: a header matches at most as many revisions as it has tags, and a list
/// contains its own tags.
pub fn conditional_headers(input: &[u8]) {
    if let Some(headers) = with(header::IF_MATCH, input)
        && let Expected::OneOf(revisions) = if_match::expected(&headers)
    {
        let tags = input.split(|byte| *byte == b',').count();
        assert!(revisions.len() <= tags, "{}", input.escape_ascii());
        assert!(!input.trim_ascii().eq(b"*"), "`*` matches every revision");
    }
    if let Some(headers) = with(header::IF_NONE_MATCH, input) {
        let tag = etag::of(StatusCode::OK, b"{}").expect("objects have a tag");
        let tag = tag.to_str().expect("text");
        let contains = std::str::from_utf8(input).is_ok_and(|text| text.contains(tag.trim_start_matches("W/")));
        let any = input.split(|byte| *byte == b',').any(|part| part.trim_ascii() == b"*");
        assert!(!etag::is_known(&headers, tag) || contains || any, "{}", input.escape_ascii());
    }
}

/// Checks `Host` and entries of `server.hosts`: local names are IP addresses and `localhost`, and a pattern includes
/// only names that end with it.
pub fn host(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (pattern, authority) = text.split_once(' ').unwrap_or(("*.example.org", text));
    let host = host_names::without_port(authority);
    assert!(authority.starts_with(host) && host.len() <= authority.len(), "{authority:?}");
    if host_names::is_local(host) {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        let own = host.to_ascii_lowercase();
        assert!(address.parse::<std::net::IpAddr>().is_ok() || own.split('.').next_back() == Some("localhost"));
    }
    if let Ok(pattern) = host_names::parse_pattern(pattern)
        && pattern != "*"
        && host_names::includes(&pattern, host)
    {
        let domain = pattern.strip_prefix("*.").unwrap_or(&pattern);
        assert!(host.to_ascii_lowercase().ends_with(domain), "{pattern:?} includes {host:?}");
    }
}

/// Checks JSON bodies of the REST API of several types: only an object with a JSON content type is accepted.
pub fn rest_json(input: &[u8]) {
    body::<api::CreateHook>(input);
    body::<api::EditHook>(input);
    body::<api::CreateRepository>(input);
    body::<api::EditRepository>(input);
    body::<api::CreateToken>(input);
    body::<api::CreateUser>(input);
}

fn body<T: DeserializeOwned>(input: &[u8]) {
    let json = with(header::CONTENT_TYPE, b"application/json").expect("a value");
    match extract::parse::<T>(&json, input) {
        Ok(_) => assert!(matches!(input.trim_ascii().first(), None | Some(b'{')), "only an object is a body"),
        Err(error) => assert!(error.message().starts_with("[]: "), "{}", error.message()),
    }
    let other = with(header::CONTENT_TYPE, b"text/plain").expect("a value");
    let is_refused = extract::parse::<T>(&other, input).is_err();
    assert_eq!(is_refused, !input.trim_ascii().is_empty(), "a body with another content type");
}

/// Returns headers with one value, if it is valid in a header.
fn with(name: HeaderName, value: &[u8]) -> Option<HeaderMap> {
    let value = HeaderValue::from_bytes(value).ok()?;
    Some(HeaderMap::from_iter([(name, value)]))
}
