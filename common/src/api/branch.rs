//! Branches: descriptions, and the bodies that create and rename them.

use serde::{Deserialize, Serialize};

use super::{PayloadCommit, null_as_default};

/// A branch. Strict clients require every field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // the format of the Gitea API
pub struct Branch {
    /// Name without `refs/heads/`.
    pub name: String,
    /// The newest commit.
    pub commit: PayloadCommit,
    /// Whether a rule protects the branch.
    pub protected: bool,
    /// Set in the rule, without effect.
    pub required_approvals: i64,
    /// Set in the rule, without effect.
    pub enable_status_check: bool,
    /// Set in the rule, without effect.
    pub status_check_contexts: Vec<String>,
    /// Whether the caller may push to it.
    pub user_can_push: bool,
    /// Whether the caller may write to the repository, and the merge list of the rule names the caller or is not used.
    pub user_can_merge: bool,
    /// Name of the rule. Only for administrators of the repository, else empty.
    pub effective_branch_protection_name: String,
}

/// `POST /repos/{owner}/{repo}/branches`. `null` is the same as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CreateBranch {
    /// Required: name of the new branch.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub new_branch_name: String,
    /// Branch, tag or commit at which the branch starts; empty for the default branch.
    #[serde(deserialize_with = "null_as_default")]
    pub old_ref_name: String,
    /// Older name of `old_ref_name`, for branches only.
    #[serde(deserialize_with = "null_as_default")]
    pub old_branch_name: String,
}

/// `PUT /repos/{owner}/{repo}/branches/{name}`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct MoveBranch {
    /// Required: the commit to which the branch is moved.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub new_commit_id: String,
    /// The commit at which the branch must be; empty for any.
    #[serde(deserialize_with = "null_as_default")]
    pub old_commit_id: String,
    /// Whether the branch may lose commits.
    #[serde(deserialize_with = "null_as_default")]
    pub force: bool,
}

/// `PATCH /repos/{owner}/{repo}/branches/{name}`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct RenameBranch {
    /// Required: the new name.
    #[serde(deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "openapi", schema(required = true, min_length = 1))]
    pub name: String,
}
