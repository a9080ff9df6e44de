//! The actions that the audit log records.

/// Generates [`Action`] with the word of each action.
macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident => $word:literal;)*) => {
        /// An action that the audit log records. Its word never changes, because filters of operators contain it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Action {
            $($(#[$doc])* $name,)*
        }

        impl Action {
            /// Every action.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the word of the action in entries.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

actions! {
    /// First use of a password or a token from an address on a day.
    SignInAccept => "sign_in.accept";
    /// Wrong or blocked credentials, counted per account, address and minute.
    SignInRefuse => "sign_in.refuse";
    /// A token was created.
    TokenCreate => "token.create";
    /// A token was deleted.
    TokenDelete => "token.delete";
    /// An SSH key was added to an account.
    KeyCreate => "key.create";
    /// An SSH key of an account was deleted.
    KeyDelete => "key.delete";
    /// An OpenPGP key was added to an account.
    GpgKeyCreate => "gpg_key.create";
    /// An OpenPGP key of an account was deleted.
    GpgKeyDelete => "gpg_key.delete";
    /// A user was created.
    UserCreate => "user.create";
    /// A user was changed by an administrator.
    UserEdit => "user.edit";
    /// A user was renamed.
    UserRename => "user.rename";
    /// A user changed the own password.
    UserPassword => "user.password";
    /// A user was deleted.
    UserDelete => "user.delete";
    /// An organization was created.
    OrgCreate => "organization.create";
    /// An organization was changed.
    OrgEdit => "organization.edit";
    /// An organization was renamed.
    OrgRename => "organization.rename";
    /// An organization was deleted.
    OrgDelete => "organization.delete";
    /// A user was added to an organization.
    MemberAdd => "member.add";
    /// A member was concealed or made public.
    MemberEdit => "member.edit";
    /// A user was removed from an organization.
    MemberRemove => "member.remove";
    /// A team was created.
    TeamCreate => "team.create";
    /// A team was changed.
    TeamEdit => "team.edit";
    /// A team was deleted.
    TeamDelete => "team.delete";
    /// A user was added to a team.
    TeamMemberAdd => "team.member_add";
    /// A user was removed from a team.
    TeamMemberRemove => "team.member_remove";
    /// A repository was added to a team.
    TeamRepositoryAdd => "team.repository_add";
    /// A repository was removed from a team.
    TeamRepositoryRemove => "team.repository_remove";
    /// A repository was created.
    RepositoryCreate => "repository.create";
    /// The import of a repository was started.
    RepositoryMigrate => "repository.migrate";
    /// A repository was created as a fork of another one.
    RepositoryFork => "repository.fork";
    /// The settings of a repository were changed.
    RepositoryEdit => "repository.edit";
    /// A repository was renamed.
    RepositoryRename => "repository.rename";
    /// A repository moved to another owner.
    RepositoryTransfer => "repository.transfer";
    /// A repository was offered to another owner.
    RepositoryOffer => "repository.offer";
    /// An offer of a repository was rejected or withdrawn.
    RepositoryOfferEnd => "repository.offer_end";
    /// A repository became private or public.
    RepositoryVisibility => "repository.visibility";
    /// A repository was archived.
    RepositoryArchive => "repository.archive";
    /// A repository was unarchived.
    RepositoryUnarchive => "repository.unarchive";
    /// A repository was deleted. It can be restored.
    RepositoryDelete => "repository.delete";
    /// A deleted repository was restored.
    RepositoryRestore => "repository.restore";
    /// A deleted repository was removed permanently by an administrator.
    RepositoryPurge => "repository.purge";
    /// A collaborator was added, or the permission of one was changed.
    CollaboratorAdd => "collaborator.add";
    /// A collaborator was removed.
    CollaboratorRemove => "collaborator.remove";
    /// A deploy key was added to a repository.
    DeployKeyCreate => "deploy_key.create";
    /// A deploy key of a repository was deleted.
    DeployKeyDelete => "deploy_key.delete";
    /// A branch rule was added to a repository.
    BranchRuleCreate => "branch_rule.create";
    /// A branch rule was changed.
    BranchRuleEdit => "branch_rule.edit";
    /// The priorities of branch rules were changed.
    BranchRuleOrder => "branch_rule.order";
    /// A branch rule was deleted.
    BranchRuleDelete => "branch_rule.delete";
    /// A tag rule was added to a repository.
    TagRuleCreate => "tag_rule.create";
    /// A tag rule was changed.
    TagRuleEdit => "tag_rule.edit";
    /// A tag rule was deleted.
    TagRuleDelete => "tag_rule.delete";
    /// A pull mirror was converted to a normal repository.
    MirrorConvert => "mirror.convert";
    /// A push mirror was added to a repository.
    PushMirrorCreate => "push_mirror.create";
    /// A push mirror of a repository was deleted.
    PushMirrorDelete => "push_mirror.delete";
    /// A branch was overwritten by a forced push.
    RefForcePush => "ref.force_push";
    /// A branch or tag was created through the API.
    RefCreate => "ref.create";
    /// A branch was moved, or got a commit, through the API.
    RefUpdate => "ref.update";
    /// A branch was renamed through the API.
    RefRename => "ref.rename";
    /// A branch or tag was deleted through the API.
    RefDelete => "ref.delete";
    /// A release was created.
    ReleaseCreate => "release.create";
    /// A release was changed or published.
    ReleaseEdit => "release.edit";
    /// A release was deleted.
    ReleaseDelete => "release.delete";
    /// A file was attached to a release.
    AssetCreate => "release_file.create";
    /// A file of a release was renamed.
    AssetEdit => "release_file.edit";
    /// A file of a release was deleted.
    AssetDelete => "release_file.delete";
    /// A lock of an LFS file was removed by another account than its owner.
    LfsLockForce => "lfs_lock.force";
    /// A hook was created.
    HookCreate => "hook.create";
    /// A hook was changed.
    HookEdit => "hook.edit";
    /// A hook was deleted.
    HookDelete => "hook.delete";
    /// A default hook was copied into existing repositories.
    HookApply => "hook.apply";
    /// A test event or a ping was sent to a hook.
    HookTest => "hook.test";
    /// A delivery was sent again.
    DeliveryRedeliver => "delivery.redeliver";
    /// A delivery was replayed: sent once with a UUID of its own, perhaps to another URL or edited.
    DeliveryReplay => "delivery.replay";
    /// The failed deliveries of a hook were sent again.
    DeliveryRecover => "delivery.recover";
    /// The expiry of an artifact was changed.
    ArtifactEdit => "artifact.edit";
    /// An artifact was deleted. It can be restored.
    ArtifactDelete => "artifact.delete";
    /// A deleted artifact was restored.
    ArtifactRestore => "artifact.restore";
    /// A deleted artifact was removed permanently by an administrator.
    ArtifactPurge => "artifact.purge";
    /// Cache entries were deleted through the API.
    CacheDelete => "cache.delete";
    /// A run was cancelled.
    RunCancel => "run.cancel";
    /// A scheduled task was run by an administrator.
    TaskRun => "task.run";
    /// A background task was cancelled.
    TaskCancel => "task.cancel";
    /// The configuration was reloaded or refused.
    SettingsReload => "settings.reload";
    /// The log filter was changed.
    SettingsLogFilter => "settings.log_filter";
    /// A backup of the data was started.
    BackupCreate => "backup.create";
    /// `farrierd rotate-key` replaced the key of the store.
    DataRotateKey => "data.rotate_key";
    /// `farrierd check-data --repair` repaired data.
    DataRepair => "data.repair";
    /// `farrierd check-data --adopt` paired the store with the data, and added repositories without a row.
    DataAdopt => "data.adopt";
    /// `farrierd check-data --set-aside` paired the store with the data, and set aside data without a row.
    DataSetAside => "data.set_aside";
    /// `farrierd store upgrade` raised the format level of the store.
    DataUpgrade => "data.upgrade";
    /// Data whose retention is over was removed.
    RetentionDelete => "retention.delete";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const MANUAL: &str = include_str!("../../../../docs/operations.md");

    #[test]
    fn the_manual_lists_every_action() {
        let words: BTreeSet<&str> = Action::ALL.iter().map(|action| action.word()).collect();
        assert_eq!(words.len(), Action::ALL.len(), "each action has its own word");
        let rows = MANUAL.lines().skip_while(|line| !line.starts_with("| action | recorded when |")).skip(2);
        let rows = rows.take_while(|line| line.starts_with('|'));
        let listed: BTreeSet<&str> = rows.filter_map(|line| line.split('`').nth(1)).collect();
        assert_eq!(listed, words);
    }
}
