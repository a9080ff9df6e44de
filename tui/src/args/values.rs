//! Values that the shell completes: sets that the daemon checks, and sets that this program checks.

use std::{ffi::OsStr, fmt::Display, str::FromStr};

use clap::{
    Arg, Command,
    builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser},
};

/// Events that hooks receive.
pub(super) const HOOK_EVENTS: SuggestedValues = SuggestedValues(&[
    "create",
    "delete",
    "fork",
    "push",
    "release",
    "repository",
    "status",
    "workflow_job",
    "workflow_run",
]);
/// Kinds of events in the event log.
pub(super) const EVENT_KINDS: SuggestedValues = SuggestedValues(&[
    "create",
    "delete",
    "fork",
    "member",
    "push",
    "release",
    "repository",
    "status",
    "workflow_job",
    "workflow_run",
]);
/// Actions in the audit log.
pub(super) const AUDIT_ACTIONS: SuggestedValues = SuggestedValues(&[
    "sign_in.accept",
    "sign_in.refuse",
    "token.create",
    "token.delete",
    "key.create",
    "key.delete",
    "user.create",
    "user.edit",
    "user.rename",
    "user.password",
    "user.delete",
    "organization.create",
    "organization.edit",
    "organization.rename",
    "organization.delete",
    "member.add",
    "member.edit",
    "member.remove",
    "team.create",
    "team.edit",
    "team.delete",
    "team.member_add",
    "team.member_remove",
    "team.repository_add",
    "team.repository_remove",
    "repository.create",
    "repository.migrate",
    "repository.fork",
    "repository.edit",
    "repository.rename",
    "repository.transfer",
    "repository.offer",
    "repository.offer_end",
    "repository.visibility",
    "repository.archive",
    "repository.unarchive",
    "repository.delete",
    "repository.restore",
    "repository.purge",
    "collaborator.add",
    "collaborator.remove",
    "deploy_key.create",
    "deploy_key.delete",
    "branch_rule.create",
    "branch_rule.edit",
    "branch_rule.order",
    "branch_rule.delete",
    "tag_rule.create",
    "tag_rule.edit",
    "tag_rule.delete",
    "mirror.convert",
    "push_mirror.create",
    "push_mirror.delete",
    "ref.force_push",
    "ref.create",
    "ref.update",
    "ref.rename",
    "ref.delete",
    "release.create",
    "release.edit",
    "release.delete",
    "release_file.create",
    "release_file.edit",
    "release_file.delete",
    "lfs_lock.force",
    "gpg_key.create",
    "gpg_key.delete",
    "hook.create",
    "hook.edit",
    "hook.delete",
    "hook.apply",
    "hook.test",
    "delivery.redeliver",
    "delivery.replay",
    "delivery.recover",
    "artifact.edit",
    "artifact.delete",
    "artifact.restore",
    "artifact.purge",
    "cache.delete",
    "run.cancel",
    "task.run",
    "task.cancel",
    "settings.reload",
    "settings.log_filter",
    "backup.create",
    "data.rotate_key",
    "data.repair",
    "data.adopt",
    "data.set_aside",
    "data.upgrade",
    "retention.delete",
]);
/// Types of receivers.
pub(super) const HOOK_TYPES: SuggestedValues =
    SuggestedValues(&["farrier", "gitea", "forgejo", "gogs", "slack", "discord", "msteams", "telegram", "matrix"]);
/// Scopes of access tokens.
pub(super) const SCOPES: SuggestedValues = SuggestedValues(&[
    "all",
    "public-only",
    "read:activitypub",
    "write:activitypub",
    "read:admin",
    "write:admin",
    "read:issue",
    "write:issue",
    "read:misc",
    "write:misc",
    "read:notification",
    "write:notification",
    "read:organization",
    "write:organization",
    "read:package",
    "write:package",
    "read:repository",
    "write:repository",
    "read:user",
    "write:user",
]);

/// Values that the help and the completion list. Any text is accepted: the daemon decides, and a newer one may know
/// more values.
#[derive(Clone, Copy, Debug)]
pub(super) struct SuggestedValues(&'static [&'static str]);

impl TypedValueParser for SuggestedValues {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

/// Parses one of `words` with `T::from_str`.
pub(super) fn one_of<T>(words: impl IntoIterator<Item = impl Into<PossibleValue>>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Display + Send + Sync + 'static> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>().map_err(|error| error.to_string()))
}

/// Returns the values of `--color`.
pub(super) fn colors() -> [PossibleValue; 6] {
    [
        PossibleValue::new("auto").help("on a terminal, unless NO_COLOR is set"),
        PossibleValue::new("always").help("also when the output is piped"),
        PossibleValue::new("never").alias("false").help("no colors"),
        PossibleValue::new("16").help("16 colors on the full screen"),
        PossibleValue::new("256").help("256 colors on the full screen"),
        PossibleValue::new("true").help("24-bit colors on the full screen"),
    ]
}

/// The values of `--screen`.
pub(super) const SCREENS: [&str; 10] =
    ["dashboard", "repositories", "hooks", "deliveries", "artifacts", "audit", "users", "runs", "tasks", "logs"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ui::ScreenId;

    #[test]
    fn audit_actions_match_the_manual() {
        const MANUAL: &str = include_str!("../../../docs/operations.md");
        let rows = MANUAL.lines().skip_while(|line| !line.starts_with("| action | recorded when |")).skip(2);
        let rows = rows.take_while(|line| line.starts_with('|'));
        let listed: BTreeSet<&str> = rows.filter_map(|line| line.split('`').nth(1)).collect();
        assert_eq!(AUDIT_ACTIONS.0.iter().copied().collect::<BTreeSet<&str>>(), listed);
    }

    #[test]
    fn screen_values_match_the_tabs() {
        let names: Vec<String> = ScreenId::TABS.iter().map(|screen| screen.name().to_lowercase()).collect();
        assert_eq!(names, SCREENS);
    }
}
