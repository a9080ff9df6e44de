//! Why the product says no, in no protocol's words. Each protocol converts it in one place.

use crate::{blob::BlobError, git::GitError, store::StoreError};

/// What a service function may fail with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It does not exist, or the caller may not know that it does.
    #[error("{what} does not exist")]
    NotFound {
        /// What was looked for, without what the caller sent.
        what: &'static str,
    },
    /// It has another name now, which the caller may know.
    #[error("the repository is called {owner}/{name} now")]
    Moved {
        /// The owner's name.
        owner: String,
        /// The repository's name.
        name: String,
    },
    /// It has another name now.
    #[error("{from} is now {to}")]
    Renamed {
        /// What was asked for: a name, or several with slashes between them.
        from: String,
        /// What stands in its place.
        to: String,
    },
    /// The input cannot be used.
    #[error("{field}: {reason}")]
    Invalid {
        /// The input field, as the protocol calls it.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The input cannot be used, in the API family's own words.
    #[error("{reason}")]
    Unusable {
        /// What is wrong with it.
        reason: String,
    },
    /// The input names what somebody else has. The API family answers it like any input that cannot
    /// be used.
    #[error("{field}: {reason}")]
    Taken {
        /// The input field, as the protocol calls it.
        field: &'static str,
        /// What is there already.
        reason: String,
    },
    /// Something of that name is there already.
    #[error("{message}")]
    Exists {
        /// A sentence that names the remedy where there is one.
        message: String,
    },
    /// It does not go together with what is there.
    #[error("{reason}")]
    Conflict {
        /// What is in the way.
        reason: String,
    },
    /// The repository is archived: it can be read, not changed.
    #[error("the repository is archived")]
    Archived,
    /// The caller is known and may not.
    #[error("{reason}")]
    Forbidden {
        /// What would be needed.
        reason: String,
    },
    /// The caller must say who they are.
    #[error("{reason}")]
    Unauthenticated {
        /// What is wrong with the credentials, or that there are none.
        reason: String,
    },
    /// Too many wrong credentials came from there.
    #[error("too many wrong credentials, try again in {retry_after_secs} seconds")]
    Throttled {
        /// When it makes sense to try again.
        retry_after_secs: u64,
    },
    /// The thing is not in a state in which this can be done.
    #[error("{reason}")]
    Precondition {
        /// Which step is missing.
        reason: String,
    },
    /// It was changed after the caller read it.
    #[error("{what} was changed after you read it; read it again and repeat your change")]
    Changed {
        /// What was to be changed.
        what: &'static str,
    },
    /// A limit on kept bytes would be passed.
    #[error("insufficient usage: {reason}")]
    Quota {
        /// Which limit.
        reason: String,
    },
    /// The body is larger than allowed.
    #[error("the content is larger than the limit of {limit} bytes")]
    TooLarge {
        /// Bytes that are allowed.
        limit: u64,
    },
    /// The body ended early or was not what its header said.
    #[error("{reason}")]
    Body {
        /// What was wrong.
        reason: String,
    },
    /// Too much is going on; the same request may succeed later.
    #[error("the server is busy, try again")]
    Busy,
    /// The disk below the data directory is full.
    #[error("not enough free space on the server's disk")]
    NoSpace,
    /// The store failed.
    #[error("storage failed while {doing}")]
    Store {
        /// The step that failed.
        doing: &'static str,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// The blob store failed.
    #[error("artifact bytes failed while {doing}")]
    Blob {
        /// The step that failed.
        doing: &'static str,
        /// Why.
        #[source]
        source: BlobError,
    },
    /// Git failed.
    #[error("git failed while {doing}")]
    Git {
        /// The step that failed.
        doing: &'static str,
        /// Why.
        #[source]
        source: GitError,
    },
}

/// Where a repository is only read: git's own text says which command it was.
impl From<GitError> for Error {
    fn from(source: GitError) -> Self {
        Self::git("reading a repository")(source)
    }
}

/// Inside a transaction, where the step is the transaction itself.
impl From<StoreError> for Error {
    fn from(source: StoreError) -> Self {
        Self::Store { doing: "reading or writing the store", source }
    }
}

impl Error {
    /// For `map_err`: git failed in the step `doing`.
    pub fn git(doing: &'static str) -> impl FnOnce(GitError) -> Self {
        move |source| match source {
            GitError::Busy => Self::Busy,
            source => Self::Git { doing, source },
        }
    }

    /// An error about an input field whose value somebody else has.
    pub fn taken(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Taken { field, reason: reason.into() }
    }

    /// An error about one input field.
    pub fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid { field, reason: reason.into() }
    }
}
