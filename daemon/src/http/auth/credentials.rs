//! Credentials out of a request: headers first, then the query.

use std::net::IpAddr;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::{HeaderMap, StatusCode, header};

use crate::{app::App, http::error::ApiError, serve::Peer, service::authentication::Credentials};

/// Names, in the query or in a header, whom to act as.
const SUDO: &str = "sudo";

/// The credentials in a request. Malformed ones are refused, never taken for none.
pub(super) fn of(
    headers: &HeaderMap,
    query: Option<&str>,
    query_tokens: bool,
) -> Result<Option<Credentials>, ApiError> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let malformed = || ApiError::new(StatusCode::UNAUTHORIZED, "the Authorization header cannot be understood");
        return value.to_str().ok().and_then(of_header).map(Some).ok_or_else(malformed);
    }
    match query_token(query) {
        Some(_) if !query_tokens => {
            Err(ApiError::new(StatusCode::UNAUTHORIZED, "tokens in the query are switched off, send a header"))
        }
        token => Ok(token.map(Credentials::Token)),
    }
}

/// Whether a request may hold credentials or ask to act as another. Cheap, and never wrong about a
/// request that holds any.
pub(super) fn may_hold(headers: &HeaderMap, query: Option<&str>) -> bool {
    query.is_some() || headers.contains_key(header::AUTHORIZATION) || headers.contains_key(SUDO)
}

/// A token in the query, as old clients send it.
pub(in crate::http) fn query_token(query: Option<&str>) -> Option<String> {
    let pairs = query.into_iter().flat_map(|query| url::form_urlencoded::parse(query.as_bytes()));
    let mut tokens =
        pairs.filter(|(name, value)| matches!(name.as_ref(), "token" | "access_token") && !value.is_empty());
    tokens.next().map(|(_, value)| value.into_owned())
}

fn of_header(value: &str) -> Option<Credentials> {
    let (scheme, rest) = value.trim().split_once(' ')?;
    let rest = rest.trim();
    match scheme.to_ascii_lowercase().as_str() {
        "token" | "bearer" if !rest.is_empty() => Some(Credentials::Token(rest.to_owned())),
        "basic" => basic(rest),
        _ => None,
    }
}

fn basic(encoded: &str) -> Option<Credentials> {
    let decoded = String::from_utf8(BASE64.decode(encoded).ok()?).ok()?;
    let (name, password) = decoded.split_once(':')?;
    Some(Credentials::Basic { name: name.to_owned(), password: password.to_owned() })
}

/// The account that an administrator wants to act as.
pub(super) fn sudo(headers: &HeaderMap, query: Option<&str>) -> Option<String> {
    let mut pairs = query.into_iter().flat_map(|query| url::form_urlencoded::parse(query.as_bytes()));
    let asked = pairs.find(|(name, _)| name == SUDO).map(|(_, value)| value.into_owned());
    let header = || headers.get(SUDO).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    asked.filter(|name| !name.is_empty()).or_else(header).filter(|name| !name.is_empty())
}

/// Where a request comes from, as far as guessing is concerned: an address, a network of IPv6, a
/// local user. A proxy that is trusted says it for its client.
pub(super) fn source(app: &App, headers: &HeaderMap, peer: Option<&Peer>) -> String {
    if let Some(Peer::Unix(Some(ids))) = peer {
        return format!("uid {}", ids.uid);
    }
    match client_address(app, headers, peer) {
        None => "unknown".to_owned(),
        Some(IpAddr::V4(address)) => format!("ip {address}"),
        Some(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            format!("ip {a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

/// The address of the client: that of the peer, or, if the peer is a trusted proxy, the one that the proxy names.
/// `None` on the Unix socket.
pub(in crate::http) fn client_address(app: &App, headers: &HeaderMap, peer: Option<&Peer>) -> Option<IpAddr> {
    let Some(Peer::Tcp(Some(address))) = peer else { return None };
    let address = *address;
    let trusted = |address: &IpAddr| app.config.server.trusted_proxies.iter().any(|n| n.contains(address));
    let mut client = address;
    if trusted(&address) {
        let told = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
        let hops: Vec<_> = told.flat_map(|line| line.split(',')).map(str::trim).collect();
        // From the nearest hop outwards, as long as who tells is trusted.
        for hop in hops.iter().rev().map_while(|hop| hop.parse().ok()) {
            client = hop;
            if !trusted(&hop) {
                break;
            }
        }
    }
    Some(client.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(authorization: &str, query: &str) -> String {
        let mut headers = HeaderMap::new();
        if !authorization.is_empty() {
            headers.insert(header::AUTHORIZATION, authorization.parse().expect("a header"));
        }
        match of(&headers, Some(query), true) {
            Ok(None) => "none".into(),
            Ok(Some(Credentials::Token(token))) => format!("token {token}"),
            Ok(Some(Credentials::Basic { name, password })) => format!("basic {name} {password}"),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn every_form_of_credentials_and_no_malformed_one() {
        assert_eq!(shown("token abc", ""), "token abc");
        assert_eq!(shown("Bearer abc", "token=other"), "token abc");
        assert_eq!(shown("TOKEN  abc ", ""), "token abc");
        assert_eq!(shown("Basic YTpiOmM=", ""), "basic a b:c");
        assert_eq!(shown("", "x=1&access_token=t"), "token t");
        assert_eq!(shown("", "token="), "none");
        for bad in ["abc", "token ", "Basic !!!", "Basic YQ==", "Digest x", "Bearer"] {
            assert_eq!(shown(bad, "token=t"), "the Authorization header cannot be understood", "{bad}");
        }
        assert!(of(&HeaderMap::new(), Some("token=t"), false).is_err(), "switched off");
    }

    #[test]
    fn who_to_act_as_is_in_the_query_or_in_a_header() {
        let mut headers = HeaderMap::new();
        assert_eq!(sudo(&headers, Some("x=1")), None);
        assert_eq!(sudo(&headers, Some("sudo=")), None);
        headers.insert("Sudo", "octo".parse().expect("a header"));
        assert_eq!(sudo(&headers, None).as_deref(), Some("octo"));
        assert_eq!(sudo(&headers, Some("sudo=a%2Db")).as_deref(), Some("a-b"));
    }
}
