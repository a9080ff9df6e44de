//! Why git did not do what it was asked for.

use std::{io, time::Duration};

/// What a git process may fail with.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The process could not be started.
    #[error("git {command} did not start")]
    Start {
        /// The git command.
        command: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Git ran and said no.
    #[error("git {command} failed: {stderr}")]
    Failed {
        /// The git command.
        command: String,
        /// Its exit status; `None`: a signal ended it.
        status: Option<i32>,
        /// What it wrote to standard error, without control characters.
        stderr: String,
    },
    /// It took too long.
    #[error("git {command} took longer than {limit:?}")]
    Timeout {
        /// The git command.
        command: String,
        /// How long it was given.
        limit: Duration,
    },
    /// It wrote more than the caller wanted to have.
    #[error("git {command} wrote more than {limit} bytes")]
    TooMuch {
        /// The git command.
        command: String,
        /// The limit.
        limit: usize,
    },
    /// An argument that no process may get: it holds a zero byte or a line break.
    #[error("an argument for git {command} holds a character that it must not")]
    Argument {
        /// The git command.
        command: String,
    },
    /// All processes are taken, and none ended in time.
    #[error("too many git processes are running")]
    Busy,
    /// A pipe or a file of a repository failed.
    #[error("git failed while {doing}")]
    Io {
        /// The step.
        doing: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl GitError {
    /// The exit status, if git ran to its end and said no.
    pub fn status(&self) -> Option<i32> {
        match self {
            Self::Failed { status, .. } => *status,
            _ => None,
        }
    }

    /// For `map_err`: an I/O error of a step.
    pub(super) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

/// Standard error as one line that is safe to log and to send: no control characters.
pub(super) fn cleaned(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let joined = lines.collect::<Vec<_>>().join("; ");
    joined.chars().filter(|c| !c.is_control()).collect()
}
