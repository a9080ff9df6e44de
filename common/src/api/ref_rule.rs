//! Rules that protect branches and tags.

use serde::{Deserialize, Serialize};

use super::null_as_default;

/// A rule that protects branches. Some clients require every field except the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // the format of the Gitea API
pub struct BranchProtection {
    /// ID of the rule, for `POST …/branch_protections/priority`.
    pub id: i64,
    /// The name of the branch; empty if the rule is a glob.
    pub branch_name: String,
    /// Name or glob of the protected branches. `*` matches no slash, `**` matches any characters.
    pub rule_name: String,
    /// The rule with the lowest priority that matches a branch decides.
    pub priority: i64,
    /// Whether anybody may push.
    pub enable_push: bool,
    /// Whether only the listed users, teams and deploy keys may push.
    pub enable_push_whitelist: bool,
    /// Users who may push.
    pub push_whitelist_usernames: Vec<String>,
    /// Teams whose members may push.
    pub push_whitelist_teams: Vec<String>,
    /// Whether deploy keys that may write may push.
    pub push_whitelist_deploy_keys: bool,
    /// Whether those who may push may push with force.
    pub enable_force_push: bool,
    /// Whether only the listed users, teams and deploy keys may push with force.
    pub enable_force_push_allowlist: bool,
    /// Users who may push with force.
    pub force_push_allowlist_usernames: Vec<String>,
    /// Teams whose members may push with force.
    pub force_push_allowlist_teams: Vec<String>,
    /// Whether deploy keys that may push may push with force.
    pub force_push_allowlist_deploy_keys: bool,
    /// Stored without effect, except for `user_can_merge` of branches.
    pub enable_merge_whitelist: bool,
    /// Users of the merge list.
    pub merge_whitelist_usernames: Vec<String>,
    /// Teams of the merge list.
    pub merge_whitelist_teams: Vec<String>,
    /// Stored without effect.
    pub enable_bypass_allowlist: bool,
    /// Stored without effect.
    pub bypass_allowlist_usernames: Vec<String>,
    /// Stored without effect.
    pub bypass_allowlist_teams: Vec<String>,
    /// Stored without effect.
    pub enable_status_check: bool,
    /// Stored without effect.
    pub status_check_contexts: Vec<String>,
    /// Stored without effect.
    pub required_approvals: i64,
    /// Stored without effect.
    pub enable_approvals_whitelist: bool,
    /// Stored without effect.
    pub approvals_whitelist_username: Vec<String>,
    /// Stored without effect.
    pub approvals_whitelist_teams: Vec<String>,
    /// Stored without effect.
    pub block_on_rejected_reviews: bool,
    /// Stored without effect.
    pub block_on_official_review_requests: bool,
    /// Stored without effect.
    pub block_on_outdated_branch: bool,
    /// Stored without effect.
    pub dismiss_stale_approvals: bool,
    /// Stored without effect.
    pub ignore_stale_approvals: bool,
    /// Whether the signatures of all new commits must be verified. The server signs no commits that it creates.
    pub require_signed_commits: bool,
    /// Globs of files that pushes may not change, separated by semicolons. Case does not count.
    pub protected_file_patterns: String,
    /// Globs of files that are not protected, although a protected pattern matches them.
    pub unprotected_file_patterns: String,
    /// Stored without effect.
    pub block_admin_merge_override: bool,
    /// When the rule was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When the rule was last changed.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated_at: String,
    /// Set if a setting has an effect that clients may not expect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// `POST` and `PATCH /repos/{owner}/{repo}/branch_protections`. Absent fields and `null` are unchanged, in a new rule
/// `false` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ChangeBranchProtection {
    /// Name or glob of the protected branches. Only for new rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub rule_name: Option<String>,
    /// Older name of `rule_name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub branch_name: Option<String>,
    /// Priority; 0 in a new rule: after all other rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0))]
    pub priority: Option<i64>,
    /// Whether anybody may push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_push: Option<bool>,
    /// Whether only the listed users, teams and deploy keys may push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_push_whitelist: Option<bool>,
    /// Users who may push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_whitelist_usernames: Option<Vec<String>>,
    /// Teams whose members may push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_whitelist_teams: Option<Vec<String>>,
    /// Whether deploy keys that may write may push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_whitelist_deploy_keys: Option<bool>,
    /// Whether those who may push may push with force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_force_push: Option<bool>,
    /// Whether only the listed users, teams and deploy keys may push with force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_force_push_allowlist: Option<bool>,
    /// Users who may push with force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_push_allowlist_usernames: Option<Vec<String>>,
    /// Teams whose members may push with force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_push_allowlist_teams: Option<Vec<String>>,
    /// Whether deploy keys that may push may push with force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_push_allowlist_deploy_keys: Option<bool>,
    /// Stored without effect, except for `user_can_merge` of branches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_merge_whitelist: Option<bool>,
    /// Users of the merge list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_whitelist_usernames: Option<Vec<String>>,
    /// Teams of the merge list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_whitelist_teams: Option<Vec<String>>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_bypass_allowlist: Option<bool>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bypass_allowlist_usernames: Option<Vec<String>>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bypass_allowlist_teams: Option<Vec<String>>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_status_check: Option<bool>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_check_contexts: Option<Vec<String>>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0))]
    pub required_approvals: Option<i64>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_approvals_whitelist: Option<bool>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals_whitelist_username: Option<Vec<String>>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals_whitelist_teams: Option<Vec<String>>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_on_rejected_reviews: Option<bool>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_on_official_review_requests: Option<bool>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_on_outdated_branch: Option<bool>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dismiss_stale_approvals: Option<bool>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_stale_approvals: Option<bool>,
    /// Whether the signatures of all new commits must be verified. The server signs no commits that it creates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_signed_commits: Option<bool>,
    /// Globs of files that pushes may not change, separated by semicolons. Case does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 4096))]
    pub protected_file_patterns: Option<String>,
    /// Globs of files that are not protected, although a protected pattern matches them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 4096))]
    pub unprotected_file_patterns: Option<String>,
    /// Stored without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_admin_merge_override: Option<bool>,
}

/// `POST /repos/{owner}/{repo}/branch_protections/priority`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct OrderBranchProtections {
    /// IDs of rules. They get the priorities 1, 2, …; the other rules follow in their order.
    #[serde(deserialize_with = "null_as_default")]
    pub ids: Vec<i64>,
}

/// A rule that protects tags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TagProtection {
    /// ID of the rule.
    pub id: i64,
    /// Glob of the protected tags, or a regular expression between slashes.
    pub name_pattern: String,
    /// Users who may create, move and delete these tags.
    pub whitelist_usernames: Vec<String>,
    /// Teams whose members may create, move and delete these tags.
    pub whitelist_teams: Vec<String>,
    /// When the rule was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When the rule was last changed.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated_at: String,
}

/// `POST` and `PATCH /repos/{owner}/{repo}/tag_protections`. Absent fields and `null` are unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct ChangeTagProtection {
    /// Glob, or a regular expression between slashes. Required in a new rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub name_pattern: Option<String>,
    /// Users who may create, move and delete these tags. A new rule needs a user or a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whitelist_usernames: Option<Vec<String>>,
    /// Teams whose members may create, move and delete these tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whitelist_teams: Option<Vec<String>>,
}
