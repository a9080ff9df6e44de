//! Exit codes and errors of commands.
//!
//! Defines the exit codes that scripts depend on and the program's only error type. All exit codes are decided
//! here.

use std::{
    borrow::Cow,
    error::Error as StdError,
    io,
    path::{Path, PathBuf},
};

use farrier_common::client::{ClientError, TlsProblem};
use http::StatusCode;

use crate::denied;

/// The command succeeded.
pub(crate) const OK: u8 = 0;
/// The daemon rejected the input.
pub(crate) const INVALID: u8 = 9;
/// Any other failure.
pub(crate) const FAILED: u8 = 1;
/// The command line is invalid.
pub(crate) const USAGE: u8 = 2;
/// The requested object does not exist.
pub(crate) const NOT_FOUND: u8 = 3;
/// The credentials are missing, invalid or not sufficient.
pub(crate) const UNAUTHORIZED: u8 = 4;
/// The request conflicts with the current state, for example with an existing name or file.
pub(crate) const CONFLICT: u8 = 5;
/// No daemon can be reached.
pub(crate) const UNREACHABLE: u8 = 6;
/// Only some of several operations succeeded.
pub(crate) const PARTLY: u8 = 7;
/// The daemon responds, but a health check fails.
pub(crate) const UNHEALTHY: u8 = 8;
/// The user interrupted the command.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A request failed.
    #[error("{doing}")]
    Call {
        doing: String,
        #[source]
        source: ClientError,
    },
    /// No daemon listens on any of the usual sockets.
    #[error("no farrier daemon answers; tried:{}\n{HINT}", tried_sockets(.0))]
    NoDaemon(Vec<(PathBuf, io::Error)>),
    /// The command line is invalid, which was only detected while the command ran.
    #[error("{0}")]
    Usage(String),
    /// An object does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The operation conflicts with something that exists.
    #[error("{0}")]
    Conflict(String),
    /// Any other failure.
    #[error("{0}")]
    Other(String),
    /// A file or stream failed.
    #[error("{doing}")]
    Io {
        doing: String,
        #[source]
        source: io::Error,
    },
    /// Health checks of the daemon fail. The output names them.
    #[error("the daemon is unhealthy: {0}")]
    Unhealthy(String),
    /// Standard output is closed.
    #[error("the output was closed")]
    Closed,
    /// The user interrupted the command.
    #[error("interrupted")]
    Interrupted,
}

const HINT: &str =
    "start it with `farrierd`, or give its address with --socket PATH, --url URL, $FARRIER_SOCKET or $FARRIER_URL";

/// Returns advice for a named socket that the user may not open.
fn closed(endpoint: &str, why: &(dyn StdError + 'static)) -> Option<String> {
    let denied = why.downcast_ref::<io::Error>()?.kind() == io::ErrorKind::PermissionDenied;
    let path = Path::new(endpoint.strip_prefix("the socket ").filter(|_| denied)?);
    denied::advice(path, user().as_deref())
}

/// Returns the name of the user from the environment.
fn user() -> Option<String> {
    crate::endpoint::variable("USER").and_then(|user| user.into_string().ok())
}

fn tried_sockets(at: &[(PathBuf, io::Error)]) -> String {
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

    /// Creates the error of a command that changes an object but got no option with a change, such as `example`.
    pub(crate) fn nothing_to_change(example: &str) -> Self {
        Self::Usage(format!("nothing to change; give at least one option, such as {example}"))
    }

    pub(crate) fn io(doing: impl Into<String>, source: io::Error) -> Self {
        Self::Io { doing: doing.into(), source }
    }

    /// Returns the exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Call { source, .. } => call_code(source),
            Self::NoDaemon(_) => UNREACHABLE,
            Self::Usage(_) => USAGE,
            Self::NotFound(_) => NOT_FOUND,
            Self::Conflict(_) => CONFLICT,
            Self::Other(_) | Self::Io { .. } => FAILED,
            Self::Unhealthy(_) => UNHEALTHY,
            Self::Closed => OK,
            Self::Interrupted => INTERRUPTED,
        }
    }

    /// Returns the message with its causes in one line, followed by a hint if there is one.
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
            401 | 403 => UNAUTHORIZED,
            404 | 410 => NOT_FOUND,
            409 => CONFLICT,
            // Gitea-family APIs return 422 for some names that are in use.
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
    fn each_failure_has_its_exit_code() {
        let cases = [
            (refused(401, None), UNAUTHORIZED),
            (refused(403, None), UNAUTHORIZED),
            (refused(404, None), NOT_FOUND),
            (refused(410, None), NOT_FOUND),
            (refused(409, None), CONFLICT),
            (refused(422, Some("user_exists")), CONFLICT),
            (refused(422, Some("invalid")), INVALID),
            (refused(400, None), FAILED),
            (refused(500, None), FAILED),
            (Failure::Call { doing: String::new(), source: ClientError::Silent { seconds: 1 } }, UNREACHABLE),
            (Failure::NoDaemon(Vec::new()), UNREACHABLE),
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
    fn every_exit_code_is_documented() {
        let manual = include_str!("../../docs/operations.md");
        let chapter =
            manual.split("## Exit codes of farrier\n").nth(1).and_then(|rest| rest.split("##").next()).unwrap();
        let listed: Vec<u8> = chapter.lines().filter_map(|line| line.split('|').nth(1)?.trim().parse().ok()).collect();
        let codes = [
            OK,
            FAILED,
            USAGE,
            NOT_FOUND,
            UNAUTHORIZED,
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
    fn a_failure_report_includes_the_causes_and_a_hint() {
        assert_eq!(refused(409, None).report(), "making it: no (409)");
        assert!(refused(401, None).report().contains("--token-file"));
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let report = Failure::NoDaemon(vec![("/run/x.sock".into(), missing)]).report();
        assert!(report.contains("/run/x.sock") && report.contains("--socket"), "{report}");
        let closed = io::Error::from(io::ErrorKind::PermissionDenied);
        let source = ClientError::Unreachable { endpoint: "the socket /".into(), source: Box::new(closed) };
        let report = Failure::Call { doing: "asking".into(), source }.report();
        assert!(report.contains("permission denied") && report.contains("/ belongs to user root"), "{report}");
    }
}
