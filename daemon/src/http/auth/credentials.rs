//! Reads credentials from a request: from headers first, then from the query.

use std::net::IpAddr;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::{HeaderMap, StatusCode, header, request::Parts};

use crate::{
    http::{AppState, error::ApiError},
    model::identity::Identity,
    serve::Peer,
    service::authentication::{Credentials, SignInOrigin},
    shares::Holder,
};

/// Query parameter and header that name the account to act as.
const SUDO: &str = "sudo";

/// Returns the credentials of a request. Malformed credentials are an error, not `None`.
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
            let reason =
                "tokens in the query are not accepted: send `Authorization: token …`, or set auth.query_tokens";
            Err(ApiError::new(StatusCode::UNAUTHORIZED, reason))
        }
        token => Ok(token.map(Credentials::Token)),
    }
}

/// Returns whether a request may have credentials or `sudo`. A quick check that can return `true` for a request
/// without credentials, but never `false` for a request that has them.
pub(super) fn may_hold(headers: &HeaderMap, query: Option<&str>) -> bool {
    query.is_some() || headers.contains_key(header::AUTHORIZATION) || headers.contains_key(SUDO)
}

/// Returns the token in the query, as old clients send it.
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

/// Returns the name of the account that the caller, an administrator, wants to act as.
pub(super) fn sudo(headers: &HeaderMap, query: Option<&str>) -> Option<String> {
    let mut pairs = query.into_iter().flat_map(|query| url::form_urlencoded::parse(query.as_bytes()));
    let in_query = pairs.find(|(name, _)| name == SUDO).map(|(_, value)| value.into_owned());
    let header = || headers.get(SUDO).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    in_query.filter(|name| !name.is_empty()).or_else(header).filter(|name| !name.is_empty())
}

/// Returns where a request comes from. Behind a trusted proxy, this is the address that the proxy reports.
pub(super) fn origin(state: &AppState, parts: &Parts) -> SignInOrigin {
    let source = super::holder(state, parts, &Identity::Anonymous);
    let client = client_address(state, &parts.headers, parts.extensions.get::<Peer>());
    let address = match source {
        Holder::Socket(Some(_)) => source.label(),
        _ => client.map(|address| address.to_string()).unwrap_or_default(),
    };
    SignInOrigin { source, address }
}

/// Returns the client's address: the peer's, or the address that the peer reports if it is a trusted proxy.
/// `None` on the Unix socket.
pub(in crate::http) fn client_address(state: &AppState, headers: &HeaderMap, peer: Option<&Peer>) -> Option<IpAddr> {
    let Some(Peer::Tcp(Some(address))) = peer else { return None };
    let address = *address;
    let trusted = |address: &IpAddr| state.config.server.trusted_proxies.iter().any(|n| n.contains(address));
    let mut client = address;
    if trusted(&address) {
        let forwarded = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
        let hops: Vec<_> = forwarded.flat_map(|line| line.split(',')).map(str::trim).collect();
        // From the nearest hop outwards, as long as the reporting hop is a trusted proxy.
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
    fn every_form_of_credentials_is_read_and_malformed_ones_are_refused() {
        assert_eq!(shown("token abc", ""), "token abc");
        assert_eq!(shown("Bearer abc", "token=other"), "token abc");
        assert_eq!(shown("TOKEN  abc ", ""), "token abc");
        assert_eq!(shown("Basic YTpiOmM=", ""), "basic a b:c");
        assert_eq!(shown("", "x=1&access_token=t"), "token t");
        assert_eq!(shown("", "token="), "none");
        for bad in ["abc", "token ", "Basic !!!", "Basic YQ==", "Digest x", "Bearer"] {
            assert_eq!(shown(bad, "token=t"), "the Authorization header cannot be understood", "{bad}");
        }
        assert!(of(&HeaderMap::new(), Some("token=t"), false).is_err(), "query tokens are disabled");
    }

    #[test]
    fn sudo_is_read_from_the_query_before_the_header() {
        let mut headers = HeaderMap::new();
        assert_eq!(sudo(&headers, Some("x=1")), None);
        assert_eq!(sudo(&headers, Some("sudo=")), None);
        headers.insert("Sudo", "octo".parse().expect("a header"));
        assert_eq!(sudo(&headers, None).as_deref(), Some("octo"));
        assert_eq!(sudo(&headers, Some("sudo=a%2Db")).as_deref(), Some("a-b"));
    }
}
