//! The errors of service functions, independent of any protocol. Each protocol converts them in one function.

use crate::{blob::BlobError, copies::CopyError, git::GitError, shares::Refused, store::StoreError};

/// An error of a service function.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object does not exist, or the caller may not know that it exists.
    #[error("{what} does not exist")]
    NotFound {
        /// The kind of object. Must not contain input of the caller.
        what: &'static str,
    },
    /// The repository was renamed, and the caller may see its new name.
    #[error("the repository is called {owner}/{name} now")]
    Moved {
        /// The owner's name.
        owner: String,
        /// The repository's name.
        name: String,
    },
    /// The object was renamed.
    #[error("{from} is now {to}")]
    Renamed {
        /// The requested name, or several joined by slashes.
        from: String,
        /// The new name.
        to: String,
    },
    /// An input field is invalid.
    #[error("{field}: {reason}")]
    Invalid {
        /// The field's name in the protocol.
        field: &'static str,
        /// The problem.
        reason: String,
    },
    /// The input is invalid, with the API family's own text.
    #[error("{reason}")]
    Unusable {
        /// The problem.
        reason: String,
    },
    /// The value of an input field is used by another object. The API family answers this like any invalid input.
    #[error("{field}: {reason}")]
    InUse {
        /// The field's name in the protocol.
        field: &'static str,
        /// The conflict.
        reason: String,
    },
    /// An object with this name exists.
    #[error("{message}")]
    Exists {
        /// A sentence, with the remedy if there is one.
        message: String,
    },
    /// The request conflicts with the current state.
    #[error("{reason}")]
    Conflict {
        /// The conflict.
        reason: String,
    },
    /// The repository does not belong to an organization, so it has no teams.
    #[error("the repository does not belong to an organization, so it has no teams")]
    NoTeams,
    /// The repository is archived and therefore read-only.
    #[error("the repository is archived")]
    Archived,
    /// The repository is a pull mirror and therefore read-only.
    #[error("mirror repository is read-only")]
    Mirror,
    /// The caller has no permission.
    #[error("{reason}")]
    Forbidden {
        /// What is required.
        reason: String,
    },
    /// The caller is not authenticated.
    #[error("{reason}")]
    Unauthenticated {
        /// The problem with the credentials, or that they are missing.
        reason: String,
    },
    /// The address or account sent too many wrong credentials.
    #[error("too many wrong credentials, try again in {retry_after_secs} seconds")]
    Throttled {
        /// Seconds until the next attempt is accepted.
        retry_after_secs: u64,
    },
    /// The object is not in the required state.
    #[error("{reason}")]
    Precondition {
        /// The missing step.
        reason: String,
    },
    /// The object was changed after the caller read it.
    #[error("{what} was changed after you read it; read it again and repeat your change")]
    Changed {
        /// The object.
        what: &'static str,
    },
    /// The request would exceed a limit on stored bytes.
    #[error("insufficient usage: {reason}")]
    Quota {
        /// The limit.
        reason: String,
    },
    /// The body is larger than allowed.
    #[error("the content is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The body ended early or did not match its headers.
    #[error("{reason}")]
    Body {
        /// The problem.
        reason: String,
    },
    /// Too many operations are running. The same request may succeed later.
    #[error("the server is busy, try again")]
    Busy,
    /// The caller or all callers together have too much work of one kind.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The files of refs of a repository could not be brought to the version of the rows in time. The same request may
    /// succeed later.
    #[error("the repository is being brought up to date, try again")]
    Behind,
    /// An earlier release wrote the repository, and its files of refs could not be compared with the rows.
    #[error("the refs of an earlier release could not be read; the log of the server has the cause")]
    NotAdopted,
    /// Git did not finish in time. A client can ask for less, for example for one directory instead of a whole tree.
    #[error("git did not finish within {seconds} s")]
    Timeout {
        /// The limit.
        seconds: u64,
    },
    /// The disk of the data directory is full.
    #[error("not enough free space on the server's disk")]
    NoSpace,
    /// The store failed.
    #[error("storage failed while {doing}")]
    Store {
        /// The step that failed.
        doing: &'static str,
        /// The cause.
        #[source]
        source: StoreError,
    },
    /// The blob store failed.
    #[error("artifact bytes failed while {doing}")]
    Blob {
        /// The step that failed.
        doing: &'static str,
        /// The cause.
        #[source]
        source: BlobError,
    },
    /// Git failed.
    #[error("git failed while {doing}")]
    Git {
        /// The step that failed.
        doing: &'static str,
        /// The cause.
        #[source]
        source: GitError,
    },
}

/// For functions that only read a repository. git's own message names the command.
impl From<GitError> for Error {
    fn from(source: GitError) -> Self {
        Self::git("reading a repository")(source)
    }
}

/// For use inside a transaction, where the transaction is the failed step.
impl From<StoreError> for Error {
    fn from(source: StoreError) -> Self {
        Self::Store { doing: "reading or writing the store", source }
    }
}

/// For functions that use the files of a repository.
impl From<CopyError> for Error {
    fn from(error: CopyError) -> Self {
        const DOING: &str = "updating the files of a repository";
        match error {
            CopyError::Store(source) => Self::Store { doing: DOING, source },
            CopyError::Git(source) => Self::git(DOING)(source),
            CopyError::Bucket(source) => Self::Blob { doing: DOING, source },
            CopyError::Late => Self::Behind,
        }
    }
}

impl Error {
    /// Returns a function for `map_err`: git failed during `doing`.
    pub fn git(doing: &'static str) -> impl FnOnce(GitError) -> Self {
        move |source| match source {
            GitError::Busy => Self::Busy,
            GitError::Refused(refused) => Self::Refused(refused),
            GitError::Timeout { limit, .. } => Self::Timeout { seconds: limit.as_secs() },
            source if source.is_full_disk() => {
                tracing::error!(doing, error = &source as &dyn std::error::Error, "the disk is full");
                Self::NoSpace
            }
            source => Self::Git { doing, source },
        }
    }

    /// Creates an error for an input field whose value is used by another object.
    pub fn in_use(field: &'static str, reason: impl Into<String>) -> Self {
        Self::InUse { field, reason: reason.into() }
    }

    /// Creates an error for an invalid input field.
    pub fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid { field, reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error as IoError, ErrorKind};

    use super::*;

    #[test]
    fn a_full_disk_has_its_own_error_and_other_failures_of_git_do_not() {
        let failed = |kind: ErrorKind| GitError::Io { doing: "writing refs", source: IoError::from(kind) };
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded] {
            for error in [Error::from(failed(kind)), Error::from(CopyError::Git(failed(kind)))] {
                assert!(matches!(error, Error::NoSpace), "{kind}: {error:?}");
            }
        }
        let error = Error::from(CopyError::Git(failed(ErrorKind::PermissionDenied)));
        assert!(matches!(error, Error::Git { .. }), "{error:?}");
    }
}
