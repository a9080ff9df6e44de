//! Forks.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// `POST /repos/{owner}/{repo}/forks`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateFork {
    /// The organization that owns the fork; empty for the caller.
    #[serde(deserialize_with = "null_as_default")]
    pub organization: String,
    /// Name of the fork; empty for the name of the source.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(max_length = 100, pattern = "^[A-Za-z0-9._-]*$"))]
    pub name: String,
}

/// `POST /repos/{owner}/{repo}/merge-upstream`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct MergeUpstream {
    /// The branch, which must exist in the fork and in its source.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub branch: String,
    /// Only moves the branch; creates no merge commit.
    #[serde(deserialize_with = "null_as_default")]
    pub ff_only: bool,
}

/// Response of `POST /repos/{owner}/{repo}/merge-upstream`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct MergedUpstream {
    /// `up-to-date`, `fast-forward` or `merge`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(up-to-date|fast-forward|merge)$"))]
    pub merge_type: String,
}

/// Response of `GET /repos/{owner}/{repo}/sync_fork`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct SyncForkInfo {
    /// Whether the branch can be moved to the commit of the source.
    pub allowed: bool,
    /// The commit of the fork.
    pub fork_commit: String,
    /// The commit of the source.
    pub base_commit: String,
    /// Number of commits of the source that the fork does not have.
    pub commits_behind: i64,
}
