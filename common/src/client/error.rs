//! What can go wrong between a client and its daemon.
//!
//! Texts name the operation; causes are linked, not repeated. No text holds a token or a
//! signature.

use std::error::Error as StdError;

use http::StatusCode;

use super::{EndpointError, TlsProblem, TokenError};

type Cause = Box<dyn StdError + Send + Sync>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address cannot be used.
    #[error("the address of the daemon is not valid")]
    Endpoint(#[from] EndpointError),
    /// The token cannot be one.
    #[error("the credentials cannot be used")]
    Token(#[from] TokenError),
    /// Nobody answers there.
    #[error("cannot reach {endpoint}")]
    Unreachable {
        /// Where.
        endpoint: String,
        /// Why.
        #[source]
        source: Cause,
    },
    /// A server answers there, but TLS with it is not possible or not safe.
    #[error("cannot connect to {endpoint}")]
    Tls {
        /// Where.
        endpoint: String,
        /// Why.
        #[source]
        source: TlsProblem,
    },
    /// The connection ended before the answer did.
    #[error("the connection was lost while {doing}")]
    Lost {
        /// What was going on.
        doing: &'static str,
        /// Why.
        #[source]
        source: Cause,
    },
    /// No answer in time, or silence in the middle of one.
    #[error("no answer for {seconds} s")]
    Silent {
        /// How long it was waited.
        seconds: u64,
    },
    /// The daemon refused.
    #[error("{}", refusal(*status, message, request_id.as_deref()))]
    Status {
        /// The status.
        status: StatusCode,
        /// The daemon's own sentence; empty when it sent none.
        message: String,
        /// The daemon's word for programs.
        code: Option<String>,
        /// Finds the request in the daemon's log.
        request_id: Option<String>,
        /// How long the daemon asks to wait, if it does.
        retry_after_secs: Option<u64>,
    },
    /// An answer that is not what it should be.
    #[error("the daemon's answer makes no sense: {what}")]
    Answer {
        /// What is odd about it.
        what: &'static str,
    },
    /// An answer that is not the JSON it should be.
    #[error("the daemon's answer is not understood; is it a farrier daemon of about this version?")]
    Decode {
        /// Where it stopped to make sense.
        #[source]
        source: serde_json::Error,
    },
    /// A request that has no JSON form.
    #[error("the request cannot be written as JSON")]
    Encode {
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// This client changes nothing.
    #[error("nothing is changed: --read-only was given, or the configuration says so")]
    ReadOnly,
    /// A target that is no path, or a header that is none.
    #[error("the request cannot be addressed")]
    Request,
}

impl ClientError {
    /// Wraps what broke a connection; the innermost cause is the one that tells.
    pub(super) fn lost(doing: &'static str, source: impl StdError + Send + Sync + 'static) -> Self {
        Self::Lost { doing, source: innermost(&source) }
    }

    pub(super) fn unreachable(endpoint: String, source: &(dyn StdError + 'static)) -> Self {
        Self::Unreachable { endpoint, source: innermost(source) }
    }

    /// The status that the daemon answered, if it did.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether the same request may well succeed a little later: the daemon is busy, restarting or
    /// the connection broke.
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

/// The wrappers around an I/O error say "client error" and the like three times over. The error
/// itself cannot be moved out of them, so its kind and text are kept.
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
    fn only_temporary_errors_are_transient() {
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
    fn the_innermost_cause_is_kept() {
        let inner = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "refused");
        let error = ClientError::unreachable("the socket /x".into(), &std::io::Error::other(inner));
        assert_eq!(error.source().unwrap().to_string(), "refused");
    }
}
