//! Why a transfer ends early.

use super::InputError;
use crate::{git::GitError, service::Error};

/// The error that ends a transfer. Its text is for the person who runs git.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// An operation failed or was refused.
    #[error(transparent)]
    Service(#[from] Error),
    /// The data of the client cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The client sent something else than the protocol expects.
    #[error("{0}")]
    Protocol(String),
    /// Neither side sent a byte for too long.
    #[error("the transfer made no progress for too long")]
    Stalled,
    /// The client read a buffered rest too slowly.
    #[error("the transfer was too slow")]
    TooSlow,
    /// The transfer made no progress and another caller needed its share.
    #[error("the transfer made no progress while other clients waited")]
    GaveWay,
    /// The caller lost its access during the transfer.
    #[error("your access was revoked")]
    Revoked,
    /// It is unknown whether the transaction of the push was committed.
    #[error("it is not known whether the push was recorded; fetch to see it, and push again if it was not")]
    NotRecorded,
    /// Git ended with this status after it had reported the reason to the client in its own protocol.
    #[error("git ended with status {0}")]
    Reported(i32),
    /// Git failed without a report.
    #[error("internal error")]
    Failed,
}

impl From<GitError> for TransferError {
    fn from(error: GitError) -> Self {
        Error::git("serving a client")(error).into()
    }
}
