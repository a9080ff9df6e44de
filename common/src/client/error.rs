//! Errors of the client: why a request could not be sent, or what the daemon refused.
//!
//! Messages name the operation; causes are available as sources and are not repeated. Messages contain no
//! tokens and no signatures.

use std::error::Error as StdError;

use http::StatusCode;

use super::{EndpointError, TlsProblem, TokenError};

type Cause = Box<dyn StdError + Send + Sync>;

/// An error of a request.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is invalid.
    #[error("the address of the daemon is not valid")]
    Endpoint(#[from] EndpointError),
    /// The token is invalid.
    #[error("the credentials cannot be used")]
    Token(#[from] TokenError),
    /// The daemon cannot be reached.
    #[error("cannot reach {endpoint}")]
    Unreachable {
        /// The address.
        endpoint: String,
        /// The cause.
        #[source]
        source: Cause,
    },
    /// The server responds, but a TLS connection is not possible or not secure.
    #[error("cannot connect to {endpoint}")]
    Tls {
        /// The address.
        endpoint: String,
        /// The cause.
        #[source]
        source: TlsProblem,
    },
    /// The connection was closed before the response was complete.
    #[error("the connection was lost while {doing}")]
    Lost {
        /// The operation.
        doing: &'static str,
        /// The cause.
        #[source]
        source: Cause,
    },
    /// There was no response in time, or no data for too long.
    #[error("no answer for {seconds} s")]
    Silent {
        /// How long the client waited, seconds.
        seconds: u64,
    },
    /// The daemon responded with an error.
    #[error("{}", refusal(*status, message, request_id.as_deref()))]
    Status {
        /// The HTTP status.
        status: StatusCode,
        /// The error message of the daemon; empty if there is none.
        message: String,
        /// The error code of the daemon.
        code: Option<String>,
        /// The id of the request in the daemon's log.
        request_id: Option<String>,
        /// The `Retry-After` time, if the daemon sent one, seconds.
        retry_after_secs: Option<u64>,
    },
    /// The response is not valid.
    #[error("the daemon sent an invalid response: {what}")]
    Answer {
        /// The problem.
        what: &'static str,
    },
    /// The response does not have the expected JSON format.
    #[error(
        "the daemon sent a response in an unexpected format; check that it is a farrier daemon of a similar version"
    )]
    Decode {
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The request cannot be written as JSON.
    #[error("the request cannot be written as JSON")]
    Encode {
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The client is read-only.
    #[error(
        "the program is read-only: remove --read-only, or `read_only` from the configuration (`farrier config check`)"
    )]
    ReadOnly,
    /// The request target or a header is invalid.
    #[error("the request target or a header is not valid")]
    Request,
}

impl ClientError {
    /// Wraps a connection error. Keeps the innermost cause, which is the informative one.
    pub(super) fn lost(doing: &'static str, source: impl StdError + Send + Sync + 'static) -> Self {
        Self::Lost { doing, source: innermost(&source) }
    }

    pub(super) fn unreachable(endpoint: String, source: &(dyn StdError + 'static)) -> Self {
        Self::Unreachable { endpoint, source: innermost(source) }
    }

    /// Returns the HTTP status if the daemon responded.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns whether the same request may succeed later: the daemon is busy or restarting, or the connection
    /// was lost.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Lost { .. } | Self::Silent { .. } => true,
            Self::Status { status, .. } => {
                status.is_server_error()
                    && *status != StatusCode::INSUFFICIENT_STORAGE
                    && *status != StatusCode::NOT_IMPLEMENTED
            }
            _ => false,
        }
    }
}

/// Returns the innermost cause, because the wrappers around an I/O error add no information. The error cannot
/// be moved out of its wrappers, so a copy of its kind and message is returned.
fn innermost(error: &(dyn StdError + 'static)) -> Cause {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    match inner.downcast_ref::<std::io::Error>() {
        Some(io) => Box::new(std::io::Error::new(io.kind(), io.to_string())),
        None => inner.to_string().into(),
    }
}

fn refusal(status: StatusCode, message: &str, request_id: Option<&str>) -> String {
    let message = if message.is_empty() { status.canonical_reason().unwrap_or("refused") } else { message };
    let number = status.as_u16();
    match request_id {
        Some(id) => format!("{message} ({number}, request {id})"),
        None => format!("{message} ({number})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(number: u16) -> ClientError {
        let status = StatusCode::from_u16(number).unwrap();
        ClientError::Status { status, message: String::new(), code: None, request_id: None, retry_after_secs: None }
    }

    #[test]
    fn only_status_500_502_503_and_504_are_transient() {
        for again in [500, 502, 503, 504] {
            assert!(status(again).is_transient(), "{again}");
        }
        for never in [400, 401, 403, 404, 409, 412, 413, 429, 501, 507] {
            assert!(!status(never).is_transient(), "{never}");
        }
    }

    #[test]
    fn a_refusal_is_formatted_as_one_line() {
        assert_eq!(status(404).to_string(), "Not Found (404)");
        assert_eq!(refusal(StatusCode::CONFLICT, "name taken", Some("r1")), "name taken (409, request r1)");
    }

    #[test]
    fn an_unreachable_error_keeps_the_innermost_cause() {
        let inner = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "refused");
        let error = ClientError::unreachable("the socket /x".into(), &std::io::Error::other(inner));
        assert_eq!(error.source().unwrap().to_string(), "refused");
    }
}
