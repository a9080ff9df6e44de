//! Questions before something is made: nothing changes by asking them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::null_as_default;

/// `POST /checks/branch-filter`. `null` is the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CheckBranchFilter {
    /// The pattern, as hooks have it; empty: all.
    #[serde(deserialize_with = "null_as_default")]
    pub branch_filter: String,
    /// Only branches of this repository, `owner/name`; empty: of all that the caller may read.
    #[serde(deserialize_with = "null_as_default")]
    pub repository: String,
}

/// What a pattern does with the branches that were pushed last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CheckedBranchFilter {
    /// At most five, the last pushed first, each once.
    pub branches: Vec<CheckedBranch>,
}

/// A branch and what the pattern says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CheckedBranch {
    /// `owner/name`.
    pub repository: String,
    /// The branch's short name.
    pub name: String,
    /// Whether it passes.
    pub passes: bool,
}

/// What a source would give a migration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct CheckedMigration {
    /// Branches there.
    pub branches: i64,
    /// Tags there.
    pub tags: i64,
    /// The branch that its `HEAD` names; empty: none does.
    pub head: String,
    /// `sha1` or `sha256`.
    pub object_format_name: String,
    /// Whether credentials went along.
    pub signed_in: bool,
    /// Free on the disk here.
    pub free_bytes: i64,
    /// What a migration may bring at most.
    pub max_bytes: i64,
}
