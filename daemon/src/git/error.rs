//! The errors of git commands and of files in repositories.

use std::{io, time::Duration};

use crate::shares::Refused;

/// An error of a git command.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The process could not be started.
    #[error("git {command} did not start")]
    Start {
        /// The git command.
        command: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Git exited with a status other than 0.
    #[error("git {command} failed: {stderr}")]
    Failed {
        /// The git command.
        command: String,
        /// The exit status; `None` if a signal ended the process.
        status: Option<i32>,
        /// Standard error as one line without control characters.
        stderr: String,
    },
    /// The command exceeded its time limit.
    #[error("git {command} took longer than {limit:?}")]
    Timeout {
        /// The git command.
        command: String,
        /// The time limit.
        limit: Duration,
    },
    /// The command wrote more than the limit.
    #[error("git {command} wrote more than {limit} bytes")]
    TooMuch {
        /// The git command.
        command: String,
        /// The limit, bytes.
        limit: usize,
    },
    /// An argument contains a zero byte or a line break.
    #[error("an argument of git {command} contains a zero byte or a line break")]
    Argument {
        /// The git command.
        command: String,
    },
    /// All process slots stayed in use until the timeout.
    #[error("too many git processes are running")]
    Busy,
    /// The caller or all callers together have too many streaming processes, or hold too much memory.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// I/O on a pipe or on a file of a repository failed.
    #[error("git failed while {doing}")]
    Io {
        /// The step that failed.
        doing: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl GitError {
    /// Returns the exit status if git exited with an error.
    pub fn status(&self) -> Option<i32> {
        match self {
            Self::Failed { status, .. } => *status,
            _ => None,
        }
    }

    /// Returns whether a file could not be written because the disk is full, or the quota of the user of the daemon.
    pub fn is_full_disk(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    /// Converts an error of reading git's output.
    pub fn from_output(source: io::Error) -> Self {
        Self::Io { doing: "reading its output", source }
    }

    /// Returns a closure for `map_err` that names the step that failed.
    pub(super) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

/// Converts standard error to one line that is safe to log and to send: control characters are removed.
pub(super) fn cleaned(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let joined = lines.collect::<Vec<_>>().join("; ");
    joined.chars().filter(|c| !c.is_control()).collect()
}
