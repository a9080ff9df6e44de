//! Why commands fail, as text and exit status.

use super::command::RepositoryPath;
use crate::service::{
    Error,
    transfers::{InputError, TransferError},
};

/// Exit status of commands that failed or were refused.
pub(super) const FAILED: u32 = 1;

/// Why a command ends without success: the text for the person who runs it, and the exit status.
pub(super) struct SshFailure {
    /// `None`: git has told the client the reason, or the client is gone.
    pub(super) text: Option<String>,
    pub(super) status: u32,
}

impl SshFailure {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), status: FAILED }
    }

    pub(super) fn missing(path: &RepositoryPath) -> Self {
        Self::new(format!("the repository {path} does not exist, or you have no access to it"))
    }
}

impl From<Error> for SshFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::Forbidden { .. }
            | Error::Refused(_)
            | Error::Busy
            | Error::Behind
            | Error::NotAdopted
            | Error::Throttled { .. }
            | Error::NoSpace => Self::new(error.to_string()),
            error => {
                tracing::error!(error = &error as &dyn std::error::Error, "a command over SSH failed");
                Self::new("the server failed; try again later")
            }
        }
    }
}

impl From<InputError> for SshFailure {
    fn from(error: InputError) -> Self {
        TransferError::from(error).into()
    }
}

impl From<TransferError> for SshFailure {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Service(error) => error.into(),
            TransferError::Reported(status) => {
                Self { text: None, status: u32::try_from(status).ok().filter(|status| *status != 0).unwrap_or(FAILED) }
            }
            error => Self::new(error.to_string()),
        }
    }
}
