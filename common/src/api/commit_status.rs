//! Statuses of commits.

use serde::{Deserialize, Serialize};

use super::{Repository, User, null_as_default};

/// A status of a commit, for example of a CI job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CommitStatus {
    /// Number of the status.
    pub id: i64,
    /// `pending`, `success`, `error`, `failure`, `warning` or `skipped`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(pending|success|error|failure|warning|skipped)$"))]
    pub status: String,
    /// URL with details; may be empty.
    pub target_url: String,
    /// A short text; may be empty.
    pub description: String,
    /// Absolute URL of the statuses of the commit.
    pub url: String,
    /// Distinguishes statuses of the same commit. The last status of each context counts.
    pub context: String,
    /// The account that created it; absent if the account was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<User>,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// The same time: a status is never changed.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated_at: String,
}

/// `POST /repos/{owner}/{repo}/statuses/{sha}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateStatus {
    /// Required: `pending`, `success`, `error`, `failure`, `warning` or `skipped`.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(
        feature = "openapi",
        schema(required = true, pattern = "^(pending|success|error|failure|warning|skipped)$")
    )]
    pub state: String,
    /// URL with details, http or https; may be empty.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255, pattern = "^(https?://.*)?$"))]
    pub target_url: String,
    /// At most 1024 characters.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 1024))]
    pub description: String,
    /// At most 255 characters; empty for `default`.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub context: String,
}

/// The last statuses of all contexts of a commit, and the state that follows from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CombinedStatus {
    /// `failure` if a status is `error`, `failure` or `warning`; otherwise `pending` if there is no status or one is
    /// `pending`; otherwise `success`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(pending|success|failure)$"))]
    pub state: String,
    /// The commit.
    pub sha: String,
    /// Number of contexts.
    pub total_count: i64,
    /// A page of the last statuses, newest first.
    pub statuses: Vec<CommitStatus>,
    /// The repository.
    pub repository: Repository,
    /// Absolute URL of the commit.
    pub commit_url: String,
    /// Absolute URL of this object.
    pub url: String,
}
