//! Refuses requests that a web site makes in a browser: state changes from other sites, and requests to a host name
//! that is not one of the daemon's (DNS rebinding).
//!
//! Browsers add credentials that they have stored to requests of any site. Other clients send neither `Origin` nor
//! `Sec-Fetch-Site`, so only the check of the host concerns them.

use std::sync::LazyLock;

use axum::{body::Body, response::Response};
use http::{HeaderName, Request, StatusCode, header};
use url::Url;

use super::{AppState, origin, refusal::in_protocol};
use crate::{model::host_names, serve::Peer};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Paths whose requests may have any host: probes of load balancers and collectors of metrics use the names of their
/// own networks.
const ANY_HOST: [&str; 2] = ["/api/healthz", "/metrics"];
/// Error codes of refused requests in the Twirp and in the block-blob protocol.
const CODES: (&str, &str) = ("permission_denied", "AuthorizationFailure");
/// Largest part of a refused host in a message, in characters.
const HOST_SHOWN_MAX: usize = 100;

/// The name of this machine, and its first label.
static MACHINE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
    let first = name.split('.').next().unwrap_or_default().to_owned();
    [name, first].into_iter().filter(|name| !name.is_empty()).collect()
});

/// Returns the response to a request that must be refused.
pub(super) fn refusal(state: &AppState, request: &Request<Body>) -> Option<Response> {
    let path = request.uri().path();
    if let Some(host) = unknown_host(state, request) {
        let shown: String = host.chars().take(HOST_SHOWN_MAX).collect();
        let message = format!(
            "{shown:?} is not a host name of this server; an administrator can add it to server.hosts or to \
             server.root_url"
        );
        return Some(in_protocol(path, StatusCode::MISDIRECTED_REQUEST, message, CODES));
    }
    if request.method().is_safe() || !is_cross_site(state, request) {
        return None;
    }
    let message = "requests that another web site makes in a browser are refused; if this page belongs to the server, \
                   set server.root_url to its address";
    Some(in_protocol(path, StatusCode::FORBIDDEN, message.to_owned(), CODES))
}

/// Returns the host of a request if it is not a name of this server.
///
/// Requests over the Unix socket may have any host: browsers do not connect to it, and its clients have to invent one.
fn unknown_host<'r>(state: &AppState, request: &'r Request<Body>) -> Option<&'r str> {
    let peer = request.extensions().get::<Peer>();
    if matches!(peer, Some(Peer::Unix(_))) || ANY_HOST.contains(&request.uri().path()) {
        return None;
    }
    let in_header = request.headers().get(header::HOST).map(|host| host.to_str().unwrap_or("?"));
    let in_uri = request.uri().authority().map(http::uri::Authority::as_str);
    let forwarded = origin::forwarded(state, request.headers(), peer, "x-forwarded-host");
    let mut hosts = [in_header, in_uri, forwarded].into_iter().flatten().map(host_names::without_port);
    hosts.find(|host| !is_own_host(state, host))
}

fn is_own_host(state: &AppState, host: &str) -> bool {
    let same = |name: &str| name.eq_ignore_ascii_case(host);
    host_names::is_local(host)
        || own_urls(state).any(|url| url.host_str().is_some_and(same))
        || state.config.server.hosts.iter().any(|pattern| host_names::includes(pattern, host))
        || MACHINE.iter().any(|name| same(name))
}

/// Returns whether a browser made the request for a page of another origin.
fn is_cross_site(state: &AppState, request: &Request<Body>) -> bool {
    let headers = request.headers();
    let site = headers.get(SEC_FETCH_SITE).map(http::HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        return true;
    }
    headers.get_all(header::ORIGIN).iter().any(|value| {
        let origin = value.to_str().ok().and_then(|text| Url::parse(text).ok());
        !origin.is_some_and(|origin| is_own_origin(state, request, &origin))
    })
}

/// Returns whether `origin` is `server.root_url`, `artifacts.base_url`, or the host of the request. The scheme of the
/// request is not known behind a proxy, so the host may have any.
fn is_own_origin(state: &AppState, request: &Request<Body>, origin: &Url) -> bool {
    if own_urls(state).any(|url| url.origin() == origin.origin()) {
        return true;
    }
    let (headers, peer) = (request.headers(), request.extensions().get::<Peer>());
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let hosts = [host, origin::forwarded(state, headers, peer, "x-forwarded-host")];
    hosts.into_iter().flatten().any(|host| {
        let own = Url::parse(&format!("{}://{host}", origin.scheme()));
        own.is_ok_and(|own| own.origin().is_tuple() && own.origin() == origin.origin())
    })
}

fn own_urls(state: &AppState) -> impl Iterator<Item = &Url> {
    [&state.config.server.root_url, &state.config.artifacts.base_url].into_iter().flatten()
}
