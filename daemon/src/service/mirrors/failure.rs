//! Why a run of a mirror failed. The texts are shown to administrators of the repository and contain no credentials.

use std::error::Error as StdError;

use crate::{
    git::{GitError, PublishError, SourceError},
    service::{
        Error,
        migrations::run::{is_refusal, short_without},
    },
    store::StoreError,
};

/// Why a run of a mirror failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum MirrorFailure {
    /// The daemon is stopping. Nothing is recorded.
    #[error("the daemon is stopping")]
    Stopped,
    /// The mirror or its repository was deleted or changed.
    #[error("the sync was cancelled")]
    Cancelled,
    /// Too many other mirrors were running.
    #[error("other mirrors were running; the sync is repeated later")]
    NoShare,
    /// It exceeded the time limit.
    #[error("the sync took too long; see migration.timeout_secs")]
    Time,
    /// The other server, or what it sent, is the problem.
    #[error("{0}")]
    Remote(String),
    /// Something on this server failed. The log has the details.
    #[error("an internal error occurred; see the log of the daemon")]
    Internal(#[source] Error),
}

impl MirrorFailure {
    /// Converts an error of git. `secrets`: texts that a hostile server could have copied into its messages.
    pub(super) fn of_git(error: GitError, secrets: &[String]) -> Self {
        match error {
            GitError::Failed { stderr, .. } if is_refusal(&stderr) => {
                Self::Remote("authentication failed at the other server".to_owned())
            }
            GitError::Failed { stderr, .. } => Self::Remote(short_without(&stderr, secrets)),
            GitError::TooMuch { limit, .. } => Self::Remote(format!("the other server sent more than {limit} bytes")),
            GitError::Timeout { .. } => Self::Remote("the other server does not respond".to_owned()),
            source => Self::Internal(Error::Git { doing: "running a mirror", source }),
        }
    }

    /// Converts an error of copying objects to the repository.
    pub(super) fn of_publish(error: PublishError, secrets: &[String]) -> Self {
        match error {
            PublishError::Refused(text) => {
                Self::Remote(format!("git refuses an object of the source: {}", short_without(&text, secrets)))
            }
            PublishError::Git(error) => Self::of_git(error, secrets),
        }
    }

    /// Writes a line to the log.
    pub(super) fn log(&self, repository: u64, mirror: &str) {
        let kind = if mirror.is_empty() { "pull" } else { "push" };
        match self {
            Self::Internal(error) => {
                let error = error as &dyn StdError;
                tracing::error!(repository, kind, mirror, error, "a mirror could not be synced");
            }
            other => tracing::info!(repository, kind, mirror, reason = %other, "a mirror could not be synced"),
        }
    }
}

impl From<SourceError> for MirrorFailure {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Refused { .. } => {
                Self::Remote("the host is not allowed; see migration.allowed_hosts".to_owned())
            }
            SourceError::Unresolved(_) => Self::Remote("the host cannot be resolved".to_owned()),
        }
    }
}

impl From<Error> for MirrorFailure {
    fn from(error: Error) -> Self {
        Self::Internal(error)
    }
}

impl From<StoreError> for MirrorFailure {
    fn from(error: StoreError) -> Self {
        Self::Internal(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_hostile_server_do_not_show_the_credentials() {
        let failed = |stderr: &str| GitError::Failed {
            command: "fetch".into(),
            status: Some(128),
            stderr: format!("remote: x; fatal: {stderr}"),
        };
        let secrets = ["s3cret".to_owned(), "dTpzM2NyZXQ=".to_owned(), String::new()];
        let shown = MirrorFailure::of_git(failed("remote error: s3cret and dTpzM2NyZXQ="), &secrets).to_string();
        assert_eq!(shown, "remote error: *** and ***");
        let shown = MirrorFailure::of_git(failed("Authentication failed for 'https://s3cret@h'"), &secrets).to_string();
        assert_eq!(shown, "authentication failed at the other server");
    }
}
