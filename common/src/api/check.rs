//! Checks of input before something is created. They change nothing.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// `POST /checks/branch-filter`. `null` is the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CheckBranchFilter {
    /// The branch filter of a hook; empty for all branches.
    #[serde(deserialize_with = "null_as_default")]
    pub branch_filter: String,
    /// Only branches of this repository, `owner/name`; empty for all repositories that the caller may read.
    #[serde(deserialize_with = "null_as_default")]
    pub repository: String,
}

/// Recently pushed branches, and whether a branch filter matches them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CheckedBranchFilter {
    /// At most five different branches, most recently pushed first.
    pub branches: Vec<CheckedBranch>,
}

/// A branch, and whether the filter matches it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CheckedBranch {
    /// `owner/name`.
    pub repository: String,
    /// The branch's short name.
    pub name: String,
    /// Whether the filter matches.
    pub passes: bool,
}

/// What a migration from a source would import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CheckedMigration {
    /// Number of branches.
    pub branches: i64,
    /// Number of tags.
    pub tags: i64,
    /// The branch that `HEAD` points to; empty if there is none.
    pub head: String,
    /// `sha1` or `sha256`.
    pub object_format_name: String,
    /// Whether credentials were sent.
    pub signed_in: bool,
    /// Free space on the daemon's disk, bytes.
    pub free_bytes: i64,
    /// Size limit of a migration, bytes.
    pub max_bytes: i64,
}
