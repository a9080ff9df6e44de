//! Addresses of daemons: a URL or the path of a Unix socket.
//!
//! Defines the two kinds of addresses and converts request paths to the URIs that the connectors expect. Reads
//! no files and no environment; the caller decides which endpoint to use.

use std::path::PathBuf;

use http::{HeaderValue, Uri};
use url::{Host, Url};

/// The address of a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket.
    Unix(PathBuf),
    /// `http://HOST[:PORT][/PREFIX]` or `https://HOST[:PORT][/PREFIX]`.
    Http(Url),
}

/// Why an address is invalid. The messages do not contain the address, because it may contain credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not a URL.
    #[error("is not a valid URL; expected https://HOST or http://HOST:PORT")]
    NotUrl,
    /// An unsupported scheme.
    #[error("has a scheme that is not supported; expected https:// or http://")]
    Scheme,
    /// The URL contains `user:password@`.
    #[error("must not contain credentials; use --token-file or FARRIER_TOKEN")]
    Credentials,
    /// The URL contains a query or a fragment.
    #[error("must not have a query or a fragment")]
    Query,
    /// The path is empty, too long for a socket, or not UTF-8.
    #[error("a socket's path must be UTF-8 and have between 1 and 107 bytes")]
    SocketPath,
}

/// Longest path that fits into `sockaddr_un` with its terminating zero byte.
const SOCKET_PATH_MAX_BYTES: usize = 107;

impl Endpoint {
    /// Parses the URL of a daemon.
    pub fn parse_url(text: &str) -> Result<Self, EndpointError> {
        let endpoint = Self::Http(Url::parse(text).map_err(|_| EndpointError::NotUrl)?);
        endpoint.check()?;
        Ok(endpoint)
    }

    /// Returns whether requests are encrypted.
    pub(super) fn is_https(&self) -> bool {
        matches!(self, Self::Http(url) if url.scheme() == "https")
    }

    /// Returns whether requests leave this machine unencrypted.
    pub(super) fn is_open(&self) -> bool {
        let Self::Http(url) = self else { return false };
        let is_loopback = match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            None => false,
        };
        url.scheme() == "http" && !is_loopback
    }

    pub(super) fn check(&self) -> Result<(), EndpointError> {
        match self {
            Self::Unix(path) => match path.to_str() {
                Some(text) if (1..=SOCKET_PATH_MAX_BYTES).contains(&text.len()) && !text.contains('\0') => Ok(()),
                _ => Err(EndpointError::SocketPath),
            },
            Self::Http(url) => match url.scheme() {
                "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
                    Err(EndpointError::Credentials)
                }
                "http" | "https" if url.query().is_some() || url.fragment().is_some() => Err(EndpointError::Query),
                "http" | "https" if url.has_host() => Ok(()),
                "http" | "https" => Err(EndpointError::NotUrl),
                _ => Err(EndpointError::Scheme),
            },
        }
    }

    /// Returns the URI for the connector and the `Host` header.
    pub(super) fn address(&self, target: &str) -> Option<(Uri, HeaderValue)> {
        match self {
            // The connector expects the socket's path in hexadecimal as the host. hyper would send it as the
            // `Host` header, which the daemon would reject.
            Self::Unix(path) => {
                let uri = format!("unix://{}:0{target}", hexadecimal(path.to_str()?)).parse().ok()?;
                Some((uri, HeaderValue::from_static("localhost")))
            }
            Self::Http(url) => {
                let host = url.host_str()?;
                let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
                let prefix = url.path().trim_end_matches('/');
                let uri = format!("{}://{host}{prefix}{target}", url.scheme()).parse().ok()?;
                Some((uri, HeaderValue::from_str(&host).ok()?))
            }
        }
    }
}

fn hexadecimal(text: &str) -> String {
    text.bytes().flat_map(|b| [b >> 4, b & 15]).filter_map(|n| char::from_digit(n.into(), 16)).collect()
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "the socket {}", path.display()),
            Self::Http(url) => f.write_str(url.as_str().trim_end_matches('/')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_https_addresses_are_accepted() {
        for good in [
            "https://forge.example",
            "https://[::1]:3443/sub",
            "http://127.0.0.1:3000",
            "http://forge.localhost/",
            "http://[::1]:3000/sub/",
        ] {
            assert!(Endpoint::parse_url(good).is_ok(), "{good}");
        }
        let refused = [
            ("forge", EndpointError::NotUrl),
            ("https://me:secret@forge.example", EndpointError::Credentials),
            ("ftp://forge.example", EndpointError::Scheme),
            ("http://me:secret@forge.example", EndpointError::Credentials),
            ("http://forge.example/?a=b", EndpointError::Query),
        ];
        for (text, error) in refused {
            assert_eq!(Endpoint::parse_url(text), Err(error), "{text}");
        }
        assert!(!EndpointError::Credentials.to_string().contains("secret"));
    }

    #[test]
    fn urls_keep_prefix_port_and_query() {
        let cases = [
            ("http://h:3000", "http://h:3000/a?b=c", "h:3000"),
            ("http://h/sub/", "http://h/sub/a?b=c", "h"),
            ("https://h", "https://h/a?b=c", "h"),
            ("https://h:3443/sub", "https://h:3443/sub/a?b=c", "h:3443"),
            ("http://[::1]:8080", "http://[::1]:8080/a?b=c", "[::1]:8080"),
        ];
        for (base, uri, host) in cases {
            let (address, header) = Endpoint::parse_url(base).unwrap().address("/a?b=c").unwrap();
            assert_eq!((address.to_string().as_str(), header.to_str().unwrap()), (uri, host));
        }
        let (address, header) = Endpoint::Unix("/run/a b.sock".into()).address("/a?b=c").unwrap();
        assert_eq!(address.to_string(), "unix://2f72756e2f6120622e736f636b:0/a?b=c");
        assert_eq!(header, "localhost");
    }

    #[test]
    fn only_plain_http_to_another_machine_is_unencrypted() {
        for (url, is_open) in [
            ("http://127.0.0.1:3000", false),
            ("http://[::1]", false),
            ("http://forge.localhost", false),
            ("https://forge.example", false),
            ("http://forge.example", true),
            ("http://10.0.0.7:3000", true),
        ] {
            assert_eq!(Endpoint::parse_url(url).unwrap().is_open(), is_open, "{url}");
        }
        assert!(!Endpoint::Unix("/s".into()).is_open());
    }

    #[test]
    fn an_invalid_socket_path_is_refused_without_a_panic() {
        use std::os::unix::ffi::OsStringExt as _;
        let not_utf8 = std::ffi::OsString::from_vec(vec![b'/', 0xff]);
        for bad in [PathBuf::new(), PathBuf::from(not_utf8), PathBuf::from("/x".repeat(80))] {
            assert_eq!(Endpoint::Unix(bad).check(), Err(EndpointError::SocketPath));
        }
    }
}
