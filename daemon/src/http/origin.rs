//! The address under which a client reached the daemon, from which signed addresses are built.

use http::{HeaderMap, header, uri::Authority};
use url::Url;

use super::AppState;
use crate::serve::Peer;

/// Returns the base of signed addresses, without a slash at its end: `artifacts.base_url` if set, else the host of the
/// request as a trusted proxy or the client reports it.
pub(super) fn base(state: &AppState, headers: &HeaderMap, peer: Option<&Peer>) -> String {
    if let Some(base) = &state.config.artifacts.base_url {
        return trimmed(base);
    }
    let forwarded = |name: &str| forwarded(state, headers, peer, name);
    let requested = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = forwarded("x-forwarded-host").into_iter().chain(requested).find(|host| is_host(host));
    let Some(host) = host else { return state.root_url.to_string() };
    let scheme = match forwarded("x-forwarded-proto") {
        Some("https") => "https",
        _ => "http",
    };
    format!("{scheme}://{host}")
}

/// Returns the value of the header `name` if `peer` is a trusted proxy.
pub(super) fn forwarded<'h>(
    state: &AppState,
    headers: &'h HeaderMap,
    peer: Option<&Peer>,
    name: &str,
) -> Option<&'h str> {
    let value = headers.get(name).filter(|_| is_trusted(state, peer))?.to_str().ok()?;
    // Each proxy of a chain appends; the first value comes from the proxy that the client connected to.
    value.split(',').next().map(str::trim)
}

/// Returns a base address as text, without a slash at its end.
pub fn trimmed(base: &Url) -> String {
    base.as_str().trim_end_matches('/').to_owned()
}

/// Returns whether `X-Forwarded-*` headers of `peer` are used. Peers on the Unix socket run on this machine and are
/// trusted.
fn is_trusted(state: &AppState, peer: Option<&Peer>) -> bool {
    match peer {
        Some(Peer::Unix(_)) => true,
        Some(Peer::Tcp(Some(address))) => state.config.server.trusted_proxies.iter().any(|net| net.contains(address)),
        _ => false,
    }
}

/// Returns whether `text` is a host with an optional port, without anything that would change the meaning of a URL.
fn is_host(text: &str) -> bool {
    text.parse::<Authority>().is_ok_and(|authority| !authority.host().is_empty() && !text.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn hosts_are_validated() {
        for good in ["a.internal:9000", "127.0.0.1:3000", "[::1]:1", "farrier.localhost"] {
            assert!(is_host(good), "{good}");
        }
        for bad in ["", "a/b", "u@h", "h?x", "h#x", "a b", ":80"] {
            assert!(!is_host(bad), "{bad}");
        }
    }
}
