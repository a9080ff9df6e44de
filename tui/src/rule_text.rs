//! Describes rules for branches and tags: the accounts that may do something, in one line.

use farrier_common::api::{BranchProtection, TagProtection};

/// Returns the accounts that may push to the branches of a rule.
pub(crate) fn pushers(rule: &BranchProtection) -> String {
    let (users, teams) = (&rule.push_whitelist_usernames, &rule.push_whitelist_teams);
    let listed = listed(users, teams, rule.push_whitelist_deploy_keys);
    who(rule.enable_push, rule.enable_push_whitelist, listed)
}

/// Returns the accounts that may push with force to the branches of a rule.
pub(crate) fn forcers(rule: &BranchProtection) -> String {
    let (users, teams) = (&rule.force_push_allowlist_usernames, &rule.force_push_allowlist_teams);
    let listed = listed(users, teams, rule.force_push_allowlist_deploy_keys);
    who(rule.enable_force_push, rule.enable_force_push_allowlist, listed)
}

/// Returns the accounts that may create, move and delete the tags of a rule.
pub(crate) fn allowed(rule: &TagProtection) -> String {
    listed(&rule.whitelist_usernames, &rule.whitelist_teams, false)
}

fn who(enabled: bool, uses_list: bool, listed: String) -> String {
    match (enabled, uses_list) {
        (false, _) => "nobody".to_owned(),
        (true, false) => "everyone".to_owned(),
        (true, true) => listed,
    }
}

fn listed(users: &[String], teams: &[String], deploy_keys: bool) -> String {
    let teams = teams.iter().map(|team| format!("@{team}"));
    let mut all: Vec<String> = users.iter().cloned().chain(teams).collect();
    if deploy_keys {
        all.push("deploy keys".to_owned());
    }
    if all.is_empty() { "nobody".to_owned() } else { all.join(", ") }
}
