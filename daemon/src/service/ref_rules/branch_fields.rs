//! The fields of branch rules that clients change.

use farrier_common::api::ChangeBranchProtection;
use farrier_proto::store::{BranchRule, RuleList};

use super::people;
use crate::{
    model::ref_rules::FilePatterns,
    service::Error,
    store::{Read, owners::Owner},
};

/// Most contexts of status checks.
const CONTEXTS_MAX: usize = 100;
/// Longest context, in bytes.
const CONTEXT_MAX_BYTES: usize = 255;

/// Returns `before` with the changes of a request.
pub(super) async fn changed(
    read: &impl Read,
    owner: &Owner,
    before: &BranchRule,
    input: &ChangeBranchProtection,
) -> Result<BranchRule, Error> {
    check(input)?;
    let mut row = before.clone();
    set_flags(&mut row, input);
    row.priority = input.priority.filter(|priority| *priority > 0).unwrap_or(row.priority);
    row.required_approvals = input.required_approvals.unwrap_or(row.required_approvals);
    for (field, value) in [
        (&mut row.protected_file_patterns, &input.protected_file_patterns),
        (&mut row.unprotected_file_patterns, &input.unprotected_file_patterns),
    ] {
        if let Some(value) = value {
            field.clone_from(value);
        }
    }
    if let Some(contexts) = &input.status_check_contexts {
        row.status_check_contexts.clone_from(contexts);
    }
    for (field, change) in [
        (
            &mut row.push_list,
            ListChange {
                enabled: input.enable_push_whitelist,
                users: ("push_whitelist_usernames", input.push_whitelist_usernames.as_deref()),
                teams: ("push_whitelist_teams", input.push_whitelist_teams.as_deref()),
                deploy_keys: input.push_whitelist_deploy_keys,
            },
        ),
        (
            &mut row.force_push_list,
            ListChange {
                enabled: input.enable_force_push_allowlist,
                users: ("force_push_allowlist_usernames", input.force_push_allowlist_usernames.as_deref()),
                teams: ("force_push_allowlist_teams", input.force_push_allowlist_teams.as_deref()),
                deploy_keys: input.force_push_allowlist_deploy_keys,
            },
        ),
        (
            &mut row.merge_list,
            ListChange {
                enabled: input.enable_merge_whitelist,
                users: ("merge_whitelist_usernames", input.merge_whitelist_usernames.as_deref()),
                teams: ("merge_whitelist_teams", input.merge_whitelist_teams.as_deref()),
                deploy_keys: None,
            },
        ),
        (
            &mut row.bypass_list,
            ListChange {
                enabled: input.enable_bypass_allowlist,
                users: ("bypass_allowlist_usernames", input.bypass_allowlist_usernames.as_deref()),
                teams: ("bypass_allowlist_teams", input.bypass_allowlist_teams.as_deref()),
                deploy_keys: None,
            },
        ),
        (
            &mut row.approvals_list,
            ListChange {
                enabled: input.enable_approvals_whitelist,
                users: ("approvals_whitelist_username", input.approvals_whitelist_username.as_deref()),
                teams: ("approvals_whitelist_teams", input.approvals_whitelist_teams.as_deref()),
                deploy_keys: None,
            },
        ),
    ] {
        *field = Some(change.apply(read, owner, field.take().unwrap_or_default()).await?);
    }
    Ok(row)
}

/// Sets the fields that are on or off.
fn set_flags(row: &mut BranchRule, input: &ChangeBranchProtection) {
    for (field, value) in [
        (&mut row.push, input.enable_push),
        (&mut row.force_push, input.enable_force_push),
        (&mut row.status_check, input.enable_status_check),
        (&mut row.block_on_rejected_reviews, input.block_on_rejected_reviews),
        (&mut row.block_on_official_review_requests, input.block_on_official_review_requests),
        (&mut row.block_on_outdated_branch, input.block_on_outdated_branch),
        (&mut row.dismiss_stale_approvals, input.dismiss_stale_approvals),
        (&mut row.ignore_stale_approvals, input.ignore_stale_approvals),
        (&mut row.require_signed_commits, input.require_signed_commits),
        (&mut row.block_admin_merge_override, input.block_admin_merge_override),
    ] {
        *field = value.unwrap_or(*field);
    }
}

/// The changes of a list, with the names of the fields in the API.
struct ListChange<'a> {
    enabled: Option<bool>,
    users: (&'static str, Option<&'a [String]>),
    teams: (&'static str, Option<&'a [String]>),
    deploy_keys: Option<bool>,
}

impl ListChange<'_> {
    async fn apply(self, read: &impl Read, owner: &Owner, mut list: RuleList) -> Result<RuleList, Error> {
        list.enabled = self.enabled.unwrap_or(list.enabled);
        list.deploy_keys = self.deploy_keys.unwrap_or(list.deploy_keys);
        if let (field, Some(names)) = self.users {
            list.users = people::users(read, field, names).await?;
        }
        if let (field, Some(names)) = self.teams {
            list.teams = people::teams(read, owner, field, names).await?;
        }
        Ok(list)
    }
}

/// Checks the fields that need no rows.
fn check(input: &ChangeBranchProtection) -> Result<(), Error> {
    for (field, text) in [
        ("protected_file_patterns", &input.protected_file_patterns),
        ("unprotected_file_patterns", &input.unprotected_file_patterns),
    ] {
        let Some(text) = text else { continue };
        FilePatterns::check(text).map_err(|problem| Error::invalid(field, problem))?;
    }
    for (field, number) in [("priority", input.priority), ("required_approvals", input.required_approvals)] {
        if number.is_some_and(|number| !(0..=i64::from(i32::MAX)).contains(&number)) {
            return Err(Error::invalid(field, format!("must be between 0 and {}", i32::MAX)));
        }
    }
    let contexts = input.status_check_contexts.as_deref().unwrap_or_default();
    if contexts.len() > CONTEXTS_MAX || contexts.iter().any(|context| context.len() > CONTEXT_MAX_BYTES) {
        let reason = format!("must have at most {CONTEXTS_MAX} contexts of {CONTEXT_MAX_BYTES} bytes");
        return Err(Error::invalid("status_check_contexts", reason));
    }
    Ok(())
}
