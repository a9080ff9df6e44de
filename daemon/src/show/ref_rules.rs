//! Converts rules that protect branches and tags.

use farrier_common::api;
use farrier_proto::store::{BranchRule, RuleList, TagRule};

use super::{number, time};
use crate::model::ref_rules::is_plain;

/// Warning about a rule that requires signed commits.
const SIGNED_WARNING: &str =
    "require_signed_commits also refuses commits that the server creates, because it does not sign them";

/// The names in a list of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListNames {
    pub(crate) users: Vec<String>,
    pub(crate) teams: Vec<String>,
}

/// The names in the lists of a branch rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleNames {
    pub(crate) push: ListNames,
    pub(crate) force_push: ListNames,
    pub(crate) merge: ListNames,
    pub(crate) bypass: ListNames,
    pub(crate) approvals: ListNames,
}

/// Converts a branch rule.
pub(crate) fn branch_protection(row: &BranchRule, names: &RuleNames) -> api::BranchProtection {
    let RuleNames { push, force_push, merge, bypass, approvals } = names.clone();
    let enabled = |list: &Option<RuleList>| list.as_ref().is_some_and(|list| list.enabled);
    let deploy_keys = |list: &Option<RuleList>| list.as_ref().is_some_and(|list| list.deploy_keys);
    api::BranchProtection {
        id: number(row.id),
        branch_name: if is_plain(&row.pattern) { row.pattern.clone() } else { String::new() },
        rule_name: row.pattern.clone(),
        priority: row.priority,
        enable_push: row.push,
        enable_push_whitelist: enabled(&row.push_list),
        push_whitelist_usernames: push.users,
        push_whitelist_teams: push.teams,
        push_whitelist_deploy_keys: deploy_keys(&row.push_list),
        enable_force_push: row.force_push,
        enable_force_push_allowlist: enabled(&row.force_push_list),
        force_push_allowlist_usernames: force_push.users,
        force_push_allowlist_teams: force_push.teams,
        force_push_allowlist_deploy_keys: deploy_keys(&row.force_push_list),
        enable_merge_whitelist: enabled(&row.merge_list),
        merge_whitelist_usernames: merge.users,
        merge_whitelist_teams: merge.teams,
        enable_bypass_allowlist: enabled(&row.bypass_list),
        bypass_allowlist_usernames: bypass.users,
        bypass_allowlist_teams: bypass.teams,
        enable_status_check: row.status_check,
        status_check_contexts: row.status_check_contexts.clone(),
        required_approvals: row.required_approvals,
        enable_approvals_whitelist: enabled(&row.approvals_list),
        approvals_whitelist_username: approvals.users,
        approvals_whitelist_teams: approvals.teams,
        block_on_rejected_reviews: row.block_on_rejected_reviews,
        block_on_official_review_requests: row.block_on_official_review_requests,
        block_on_outdated_branch: row.block_on_outdated_branch,
        dismiss_stale_approvals: row.dismiss_stale_approvals,
        ignore_stale_approvals: row.ignore_stale_approvals,
        require_signed_commits: row.require_signed_commits,
        protected_file_patterns: row.protected_file_patterns.clone(),
        unprotected_file_patterns: row.unprotected_file_patterns.clone(),
        block_admin_merge_override: row.block_admin_merge_override,
        created_at: time(row.created_ms),
        updated_at: time(row.updated_ms),
        warning: row.require_signed_commits.then(|| SIGNED_WARNING.to_owned()),
    }
}

/// Converts a tag rule.
pub(crate) fn tag_protection(row: &TagRule, names: &ListNames) -> api::TagProtection {
    let ListNames { users, teams } = names.clone();
    api::TagProtection {
        id: number(row.id),
        name_pattern: row.pattern.clone(),
        whitelist_usernames: users,
        whitelist_teams: teams,
        created_at: time(row.created_ms),
        updated_at: time(row.updated_ms),
    }
}
