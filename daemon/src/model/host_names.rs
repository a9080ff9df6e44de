//! The names under which the daemon is reached, for the check of the `Host` header.
//!
//! A web site can point its own name at the address of the daemon (DNS rebinding). Browsers then treat the daemon as
//! part of that site. The request still carries the name of the site, so unknown names are refused. A request to an IP
//! address cannot come from such a site.

use std::net::IpAddr;

/// Checks an entry of `server.hosts`: a host name, `*.` followed by a host name, or `*`.
pub fn parse_pattern(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if text == "*" || (!name.is_empty() && is_name && !name.contains("..")) {
        return Ok(text.trim_end_matches('.').to_ascii_lowercase());
    }
    let expected = "expected a host name without a port, such as \"forge.example.org\", \"*.example.org\" or \"*\"";
    Err(format!("{text:?} is not valid; {expected}"))
}

/// Returns the host in `authority`, without its port, and without a dot at its end.
pub fn without_port(authority: &str) -> &str {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.ends_with(':') => host,
        _ => authority,
    };
    host.strip_suffix('.').unwrap_or(host)
}

/// Returns whether `host` is an IP address or a name of the machine itself.
pub fn is_local(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    address.parse::<IpAddr>().is_ok() || is_at(host, "localhost")
}

/// Returns whether an entry of `server.hosts` includes `host`.
pub fn includes(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(domain) => is_at(host, domain) && host.len() > domain.len(),
        None => pattern == "*" || pattern.eq_ignore_ascii_case(host),
    }
}

/// Returns whether `host` is `domain` or a name below it.
fn is_at(host: &str, domain: &str) -> bool {
    let Some(start) = host.len().checked_sub(domain.len()) else { return false };
    let (below, end) = (host.as_bytes().get(..start), host.as_bytes().get(start..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(domain.as_bytes()))
        && below.is_some_and(|below| below.is_empty() || below.ends_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_final_dots_are_removed() {
        for (authority, host) in [
            ("forge.example.org", "forge.example.org"),
            ("forge.example.org.:3000", "forge.example.org"),
            ("127.0.0.1:3000", "127.0.0.1"),
            ("[::1]:3000", "[::1]"),
            ("[::1]", "[::1]"),
            ("a:b", "a:b"),
            ("", ""),
        ] {
            assert_eq!(without_port(authority), host, "{authority}");
        }
    }

    #[test]
    fn addresses_and_localhost_are_local() {
        for host in ["127.0.0.1", "203.0.113.9", "[::1]", "[2001:db8::7]", "localhost", "LocalHost", "a.localhost"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["", "notlocalhost", "localhost.example.org", "127.0.0.1.example.org", "[::1", "u@127.0.0.1"] {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn patterns_include_names_and_names_below_a_domain() {
        for (pattern, host, expected) in [
            ("forge.example.org", "Forge.Example.org", true),
            ("forge.example.org", "a.forge.example.org", false),
            ("*.example.org", "forge.example.org", true),
            ("*.example.org", "a.b.example.org", true),
            ("*.example.org", "example.org", false),
            ("*.example.org", "notexample.org", false),
            ("*", "anything", true),
        ] {
            assert_eq!(includes(pattern, host), expected, "{pattern} {host}");
        }
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for good in ["*", "*.example.org", "forge", "Forge.Example.org."] {
            assert!(parse_pattern(good).is_ok(), "{good}");
        }
        for bad in ["", "*.", "a*b", "http://forge", "forge:3000", "a b", "a..b", "**.org", "ä"] {
            assert!(parse_pattern(bad).is_err(), "{bad}");
        }
    }
}
