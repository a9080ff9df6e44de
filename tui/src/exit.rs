//! How a command ends.
//!
//! Owns the exit codes that scripts depend on and the one error type of the program. Codes are
//! decided here and nowhere else.

use std::{
    borrow::Cow,
    error::Error as StdError,
    io,
    path::{Path, PathBuf},
};

use farrier_common::client::{ClientError, TlsProblem};
use http::StatusCode;

use crate::denied;

/// All went well.
pub(crate) const OK: u8 = 0;
/// The daemon refused the input.
pub(crate) const INVALID: u8 = 9;
/// Something failed that has no code of its own.
pub(crate) const FAILED: u8 = 1;
/// The command line makes no sense.
pub(crate) const USAGE: u8 = 2;
/// What was asked for is not there.
pub(crate) const NOT_FOUND: u8 = 3;
/// No credentials, wrong ones, or not enough rights.
pub(crate) const UNAUTHORISED: u8 = 4;
/// Something is in the way.
pub(crate) const CONFLICT: u8 = 5;
/// No daemon answers.
pub(crate) const UNREACHABLE: u8 = 6;
/// Some of several things were done.
pub(crate) const PARTLY: u8 = 7;
/// The daemon answers, and one of its health checks fails.
pub(crate) const UNHEALTHY: u8 = 8;
/// Interrupted by the user.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The daemon refused or was lost.
    #[error("{doing}")]
    Call {
        doing: String,
        #[source]
        source: ClientError,
    },
    /// None of the usual sockets has a daemon behind it.
    #[error("no farrier daemon answers; tried:{}\n{HINT}", looked(.0))]
    Nowhere(Vec<(PathBuf, io::Error)>),
    /// The command line makes no sense, in a way that only running it shows.
    #[error("{0}")]
    Usage(String),
    /// Something is not there.
    #[error("{0}")]
    NotFound(String),
    /// Something is in the way.
    #[error("{0}")]
    Conflict(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
    /// A file or a stream.
    #[error("{doing}")]
    Io {
        doing: String,
        #[source]
        source: io::Error,
    },
    /// Health checks of the daemon fail; the output says which.
    #[error("the daemon is unhealthy: {0}")]
    Unhealthy(String),
    /// Stdout is closed.
    #[error("the output was closed")]
    Closed,
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

const HINT: &str =
    "start it with `farrierd`, or give its address with --socket PATH, --url URL, $FARRIER_SOCKET or $FARRIER_URL";

/// Whose a socket is that was named and may not be opened.
fn closed(endpoint: &str, why: &(dyn StdError + 'static)) -> Option<String> {
    let denied = why.downcast_ref::<io::Error>()?.kind() == io::ErrorKind::PermissionDenied;
    let path = Path::new(endpoint.strip_prefix("the socket ").filter(|_| denied)?);
    denied::advice(path, user().as_deref())
}

/// Who runs this program, by the environment.
fn user() -> Option<String> {
    crate::endpoint::variable("USER").and_then(|user| user.into_string().ok())
}

fn looked(at: &[(PathBuf, io::Error)]) -> String {
    let user = user();
    at.iter().fold(String::new(), |text, (path, error)| {
        let denied = error.kind() == io::ErrorKind::PermissionDenied;
        let advice = if denied { denied::advice(path, user.as_deref()) } else { None };
        let advice = advice.map_or_else(String::new, |advice| format!("\n    {advice}"));
        format!("{text}\n  {}: {error}{advice}", path.display())
    })
}

impl Failure {
    pub(crate) fn call(doing: impl Into<String>) -> impl FnOnce(ClientError) -> Self {
        let doing = doing.into();
        move |source| Self::Call { doing, source }
    }

    pub(crate) fn io(doing: impl Into<String>, source: io::Error) -> Self {
        Self::Io { doing: doing.into(), source }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Call { source, .. } => call_code(source),
            Self::Nowhere(_) => UNREACHABLE,
            Self::Usage(_) => USAGE,
            Self::NotFound(_) => NOT_FOUND,
            Self::Conflict(_) => CONFLICT,
            Self::Other(_) | Self::Io { .. } => FAILED,
            Self::Unhealthy(_) => UNHEALTHY,
            Self::Closed => OK,
            Self::Interrupted => INTERRUPTED,
        }
    }

    /// The text and its causes in one line, and what may help.
    pub(crate) fn report(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        match self.hint() {
            Some(hint) => format!("{text}\n{hint}"),
            None => text,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let Self::Call { source, .. } = self else { return None };
        match source {
            ClientError::Unreachable { endpoint, source } => {
                Some(closed(endpoint, source.as_ref()).map_or(HINT.into(), Cow::Owned))
            }
            ClientError::Tls { source: TlsProblem::UnknownAuthority, .. } => {
                Some("pass the certificate of the authority with --ca FILE, or add it to the system's".into())
            }
            ClientError::Tls { source: TlsProblem::NotTls, .. } => {
                Some("use http:// if the daemon does not use TLS".into())
            }
            ClientError::Status { status: StatusCode::UNAUTHORIZED, .. } => Some(
                "on the socket, only root, the user of the daemon and members of socket.admin_group need no token; others use --token-file or $FARRIER_TOKEN"
                    .into(),
            ),
            _ => None,
        }
    }
}

fn call_code(error: &ClientError) -> u8 {
    match error {
        ClientError::Unreachable { .. }
        | ClientError::Tls { .. }
        | ClientError::Lost { .. }
        | ClientError::Silent { .. } => UNREACHABLE,
        ClientError::Endpoint(_) | ClientError::Token(_) => USAGE,
        ClientError::Status { status, code, .. } => match status.as_u16() {
            401 | 403 => UNAUTHORISED,
            404 | 410 => NOT_FOUND,
            409 => CONFLICT,
            // The API family answers 422 for some names that are taken.
            422 if code.as_deref().is_some_and(|code| code.ends_with("_exists")) => CONFLICT,
            422 => INVALID,
            _ => FAILED,
        },
        _ => FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(number: u16, code: Option<&str>) -> Failure {
        let status = StatusCode::from_u16(number).unwrap();
        let source = ClientError::Status {
            status,
            message: "no".into(),
            code: code.map(str::to_owned),
            request_id: None,
            retry_after_secs: None,
        };
        Failure::Call { doing: "making it".into(), source }
    }

    #[test]
    fn every_failure_has_its_code() {
        let cases = [
            (refused(401, None), UNAUTHORISED),
            (refused(403, None), UNAUTHORISED),
            (refused(404, None), NOT_FOUND),
            (refused(410, None), NOT_FOUND),
            (refused(409, None), CONFLICT),
            (refused(422, Some("user_exists")), CONFLICT),
            (refused(422, Some("invalid")), INVALID),
            (refused(400, None), FAILED),
            (refused(500, None), FAILED),
            (Failure::Call { doing: String::new(), source: ClientError::Silent { seconds: 1 } }, UNREACHABLE),
            (Failure::Nowhere(Vec::new()), UNREACHABLE),
            (Failure::Usage(String::new()), USAGE),
            (Failure::Unhealthy(String::new()), UNHEALTHY),
            (Failure::Closed, OK),
            (Failure::Interrupted, INTERRUPTED),
        ];
        for (failure, code) in cases {
            assert_eq!(failure.code(), code, "{failure:?}");
        }
    }

    #[test]
    fn every_code_is_in_the_manual() {
        let manual = include_str!("../../docs/operations.md");
        let chapter =
            manual.split("## Exit codes of farrier\n").nth(1).and_then(|rest| rest.split("##").next()).unwrap();
        let listed: Vec<u8> = chapter.lines().filter_map(|line| line.split('|').nth(1)?.trim().parse().ok()).collect();
        let codes = [
            OK,
            FAILED,
            USAGE,
            NOT_FOUND,
            UNAUTHORISED,
            CONFLICT,
            UNREACHABLE,
            PARTLY,
            UNHEALTHY,
            INVALID,
            INTERRUPTED,
        ];
        assert_eq!(listed, codes);
    }

    #[test]
    fn a_report_holds_every_cause_and_what_may_help() {
        assert_eq!(refused(409, None).report(), "making it: no (409)");
        assert!(refused(401, None).report().contains("--token-file"));
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let report = Failure::Nowhere(vec![("/run/x.sock".into(), missing)]).report();
        assert!(report.contains("/run/x.sock") && report.contains("--socket"), "{report}");
        let closed = io::Error::from(io::ErrorKind::PermissionDenied);
        let source = ClientError::Unreachable { endpoint: "the socket /".into(), source: Box::new(closed) };
        let report = Failure::Call { doing: "asking".into(), source }.report();
        assert!(report.contains("permission denied") && report.contains("/ belongs to user root"), "{report}");
    }
}
