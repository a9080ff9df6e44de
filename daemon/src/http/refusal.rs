//! Requests that are refused before routing, in the error format of the protocol that the path belongs to.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, Version, header, request::Parts};

use super::{
    artifact::{BlobApiError, TwirpError},
    error::ApiError,
    git, lfs,
};

/// Largest head of a request, in bytes. Larger heads that are complete within [`crate::serve::HEAD_READ_MAX`] are
/// refused here, with an error body.
const HEAD_MAX_BYTES: usize = 32 << 10;
/// Seconds after which a client that was refused because of a limit may try again.
pub(super) const RETRY_AFTER_SECS: u64 = 5;

/// Why a request is refused before routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The header `Host` is missing, repeated or not valid. RFC 9112, section 3.2, requires 400.
    Host,
    /// The address is too long.
    LongAddress,
    /// The head is too large.
    LargeHead,
    /// A limit of the daemon is reached. The client may try again.
    Busy,
}

impl Refusal {
    /// Returns why a request with this head is refused, or `None` if it is not.
    pub(super) fn of(parts: &Parts) -> Option<Self> {
        if address_bytes(&parts.uri) > HEAD_MAX_BYTES {
            return Some(Self::LongAddress);
        }
        if head_bytes(parts) > HEAD_MAX_BYTES {
            return Some(Self::LargeHead);
        }
        (!has_valid_host(&parts.headers, parts.version)).then_some(Self::Host)
    }

    fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::BAD_REQUEST,
            Self::LongAddress => StatusCode::URI_TOO_LONG,
            Self::LargeHead => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn message(self) -> String {
        match self {
            Self::Host => "the request must have one header Host with the name or address of this server".to_owned(),
            Self::LongAddress => format!("the address is longer than {HEAD_MAX_BYTES} bytes"),
            Self::LargeHead => format!("the headers are larger than {HEAD_MAX_BYTES} bytes"),
            Self::Busy => format!("the server is busy, try again in {RETRY_AFTER_SECS} seconds"),
        }
    }

    /// Returns the error code of the Twirp and of the block-blob protocol.
    fn codes(self) -> (&'static str, &'static str) {
        match self {
            Self::Host | Self::LargeHead => ("malformed", "InvalidHeaderValue"),
            Self::LongAddress => ("malformed", "InvalidUri"),
            Self::Busy => ("unavailable", "ServerBusy"),
        }
    }

    /// Returns the response to a request for `path`.
    pub(super) fn response(self, path: &str) -> Response<Body> {
        let mut response = in_protocol(path, self.status(), self.message(), self.codes());
        let headers = response.headers_mut();
        if self == Self::Busy {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER_SECS.into());
        }
        // The rest of the connection cannot be trusted to be what the client means.
        if self != Self::Busy {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Returns an error in the format of the protocol that `path` belongs to, with its codes in the Twirp and in the
/// block-blob protocol.
pub(super) fn in_protocol(
    path: &str,
    status: StatusCode,
    message: String,
    (twirp_code, blob_code): (&'static str, &'static str),
) -> Response<Body> {
    if path.starts_with("/twirp/") {
        TwirpError::new(status, twirp_code, message).into_response()
    } else if path.starts_with("/_blob/") {
        BlobApiError::new(status, blob_code, message).into_response()
    } else if lfs::is_lfs(path) {
        lfs::failure(status, message)
    } else if is_git(path) {
        git::failure(status, message)
    } else {
        ApiError::new(status, message).into_response()
    }
}

/// Returns whether a path belongs to git's protocol.
fn is_git(path: &str) -> bool {
    ["/info/refs", "/git-upload-pack", "/git-receive-pack"].iter().any(|end| path.ends_with(end))
        || git::is_bundle(path)
}

fn address_bytes(uri: &Uri) -> usize {
    uri.path().len() + uri.query().map_or(0, |query| query.len() + 1)
}

/// Returns the size of a head, as if each header was written as `name: value` and a line break.
fn head_bytes(parts: &Parts) -> usize {
    const SEPARATORS: usize = ": \r\n".len();
    let headers = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + SEPARATORS);
    parts.method.as_str().len() + address_bytes(&parts.uri) + headers.sum::<usize>()
}

/// Returns whether a request has exactly one valid header `Host`. Only HTTP/1.0 requests may have none.
fn has_valid_host(headers: &HeaderMap, version: Version) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => version < Version::HTTP_11,
        (Some(host), None) => host.to_str().is_ok_and(is_host),
        _ => false,
    }
}

/// Returns whether `text` is `host` or `host:port` as defined in RFC 3986, and not empty.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rfind(':').filter(|at| !text[*at..].contains(']')) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let port_is_valid =
        port.is_empty() || (port.len() <= 5 && port.parse::<u16>().is_ok_and(|_| !port.starts_with('+')));
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(&byte);
    let host_is_valid = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_name_byte),
    };
    host_is_valid && port_is_valid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses_with_an_optional_port() {
        for good in ["a", "a.example:80", "127.0.0.1:3000", "[::1]", "[::1]:3000", "a:", "%2Frun%2Fs", "x_y"] {
            assert!(is_host(good), "{good}");
        }
        for bad in
            ["", ":80", "a b", "a/b", "u@h", "a:b", "a:99999", "a:+1", "a:1:2", "::1", "[::1", "[x]", "[]:1", "a,b:c"]
        {
            assert!(!is_host(bad), "{bad}");
        }
    }

    #[test]
    fn refusals_have_the_format_of_the_protocol() {
        for (path, content_type) in [
            ("/twirp/a/b", "application/json"),
            ("/_blob/1/1/x", "application/xml"),
            ("/a/b.git/info/refs", "text/plain; charset=utf-8"),
            ("/a/b.git/info/lfs/objects/batch", "application/vnd.git-lfs+json"),
        ] {
            let response = Refusal::Busy.response(path);
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(response.headers()[header::CONTENT_TYPE], content_type, "{path}");
            assert_eq!(response.headers()[header::RETRY_AFTER], "5");
        }
    }
}
