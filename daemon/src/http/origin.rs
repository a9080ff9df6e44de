//! Under which address a client reached us: what signed addresses are built from.

use http::{HeaderMap, header, uri::Authority};
use url::Url;

use crate::{app::App, serve::Peer};

/// The base of signed addresses, without a slash at its end: what is configured, else the host
/// that the request named, through a trusted proxy if one says so.
pub(super) fn base(app: &App, headers: &HeaderMap, peer: Option<&Peer>) -> String {
    if let Some(base) = &app.config.artifacts.base_url {
        return trimmed(base);
    }
    let trusted = is_trusted(app, peer);
    let forwarded = |name: &str| {
        let value = headers.get(name).filter(|_| trusted)?.to_str().ok()?;
        // A chain of proxies appends; the first one spoke to the client.
        value.split(',').next().map(str::trim)
    };
    let named = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = forwarded("x-forwarded-host").into_iter().chain(named).find(|host| is_host(host));
    let Some(host) = host else { return app.root_url.clone() };
    let scheme = match forwarded("x-forwarded-proto") {
        Some("https") => "https",
        _ => "http",
    };
    format!("{scheme}://{host}")
}

/// A base address as text, without a slash at its end.
pub fn trimmed(base: &Url) -> String {
    base.as_str().trim_end_matches('/').to_owned()
}

/// The Unix socket counts as trusted: who reaches it is on this machine already.
fn is_trusted(app: &App, peer: Option<&Peer>) -> bool {
    match peer {
        Some(Peer::Unix(_)) => true,
        Some(Peer::Tcp(Some(address))) => app.config.server.trusted_proxies.iter().any(|net| net.contains(address)),
        _ => false,
    }
}

/// A host and perhaps a port, nothing that could change what an address means.
fn is_host(text: &str) -> bool {
    text.parse::<Authority>().is_ok_and(|authority| !authority.host().is_empty() && !text.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn hosts() {
        for good in ["a.internal:9000", "127.0.0.1:3000", "[::1]:1", "farrier.localhost"] {
            assert!(is_host(good), "{good}");
        }
        for bad in ["", "a/b", "u@h", "h?x", "h#x", "a b", ":80"] {
            assert!(!is_host(bad), "{bad}");
        }
    }
}
