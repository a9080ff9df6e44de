//! Where a daemon is.
//!
//! Owns the two kinds of address and how a path becomes the URI that the connector of each kind
//! understands. Looks at no file and no environment: which endpoint to use is decided by who
//! calls.

use std::path::PathBuf;

use http::{HeaderValue, Uri};
use url::Url;

/// The address of a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket.
    Unix(PathBuf),
    /// `http://HOST[:PORT][/PREFIX]`.
    Http(Url),
}

/// Why an address cannot be used. Addresses are not repeated: they may hold credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not a URL at all.
    #[error("not a URL; it looks like http://127.0.0.1:3000")]
    NotUrl,
    /// TLS is not spoken.
    #[error(
        "https is not supported by this program yet: on the daemon's machine use the socket or \
         http://127.0.0.1:3000, from elsewhere forward one of them, for example with ssh -L"
    )]
    Https,
    /// Another scheme.
    #[error("only http:// addresses are supported")]
    Scheme,
    /// `user:password@`.
    #[error("credentials do not belong into a URL; use --token-file")]
    Credentials,
    /// `?…` or `#…`.
    #[error("an address has no query and no fragment")]
    Query,
    /// A path that is empty, too long for a socket, or not UTF-8.
    #[error("a socket's path must be UTF-8 and have between 1 and 107 bytes")]
    SocketPath,
}

/// Longest path that fits into `sockaddr_un` with its final zero.
const SOCKET_PATH_MAX_BYTES: usize = 107;

impl Endpoint {
    /// Reads the address of a daemon on TCP.
    pub fn parse_url(text: &str) -> Result<Self, EndpointError> {
        let endpoint = Self::Http(Url::parse(text).map_err(|_| EndpointError::NotUrl)?);
        endpoint.check()?;
        Ok(endpoint)
    }

    pub(super) fn check(&self) -> Result<(), EndpointError> {
        match self {
            Self::Unix(path) => match path.to_str() {
                Some(text) if (1..=SOCKET_PATH_MAX_BYTES).contains(&text.len()) && !text.contains('\0') => Ok(()),
                _ => Err(EndpointError::SocketPath),
            },
            Self::Http(url) => match url.scheme() {
                "https" => Err(EndpointError::Https),
                "http" if !url.username().is_empty() || url.password().is_some() => Err(EndpointError::Credentials),
                "http" if url.query().is_some() || url.fragment().is_some() => Err(EndpointError::Query),
                "http" if url.has_host() => Ok(()),
                "http" => Err(EndpointError::NotUrl),
                _ => Err(EndpointError::Scheme),
            },
        }
    }

    /// The URI that the connector reads, and the `Host` that the daemon does.
    pub(super) fn address(&self, target: &str) -> Option<(Uri, HeaderValue)> {
        match self {
            // The connector expects the socket's path in hexadecimal as the host; hyper would send
            // that as `Host`, which no daemon knows as its name.
            Self::Unix(path) => {
                let uri = format!("unix://{}:0{target}", hexadecimal(path.to_str()?)).parse().ok()?;
                Some((uri, HeaderValue::from_static("localhost")))
            }
            Self::Http(url) => {
                let host = url.host_str()?;
                let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
                let prefix = url.path().trim_end_matches('/');
                let uri = format!("http://{host}{prefix}{target}").parse().ok()?;
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
    fn only_plain_http_addresses_are_taken() {
        for good in ["http://127.0.0.1:3000", "http://forge.localhost/", "http://[::1]:3000/sub/"] {
            assert!(Endpoint::parse_url(good).is_ok(), "{good}");
        }
        let refused = [
            ("forge", EndpointError::NotUrl),
            ("https://forge.example", EndpointError::Https),
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
    fn addresses_keep_prefix_port_and_query() {
        let cases = [
            ("http://h:3000", "http://h:3000/a?b=c", "h:3000"),
            ("http://h/sub/", "http://h/sub/a?b=c", "h"),
            ("http://[::1]:8080", "http://[::1]:8080/a?b=c", "[::1]:8080"),
        ];
        for (base, uri, host) in cases {
            let (made, header) = Endpoint::parse_url(base).unwrap().address("/a?b=c").unwrap();
            assert_eq!((made.to_string().as_str(), header.to_str().unwrap()), (uri, host));
        }
        let (made, header) = Endpoint::Unix("/run/a b.sock".into()).address("/a?b=c").unwrap();
        assert_eq!(made.to_string(), "unix://2f72756e2f6120622e736f636b:0/a?b=c");
        assert_eq!(header, "localhost");
    }

    #[test]
    fn a_socket_path_that_no_socket_can_have_is_refused_without_a_panic() {
        use std::os::unix::ffi::OsStringExt as _;
        let not_utf8 = std::ffi::OsString::from_vec(vec![b'/', 0xff]);
        for bad in [PathBuf::new(), PathBuf::from(not_utf8), PathBuf::from("/x".repeat(80))] {
            assert_eq!(Endpoint::Unix(bad).check(), Err(EndpointError::SocketPath));
        }
    }
}
