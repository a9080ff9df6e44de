//! Arguments of `farrier repo protect`.

use clap::{Args, Subcommand, ValueEnum};
use farrier_common::{api, client::RepositoryPath};

use super::Limit;

#[derive(Debug, Subcommand)]
pub(crate) enum Protect {
    /// List the rules of a repository, in the order in which they are applied
    List {
        /// Repository
        #[arg(value_name = "OWNER/NAME")]
        repo: RepositoryPath,
        /// List the rules for tags
        #[arg(long)]
        tags: bool,
        #[command(flatten)]
        limit: Limit,
    },
    /// Protect branches from deletion and forced pushes, or with --tags protect tags
    Add {
        #[command(flatten)]
        rule: RuleArgs,
        #[command(flatten)]
        fields: RuleFields,
    },
    /// Change a rule; omitted fields are unchanged
    Edit {
        #[command(flatten)]
        rule: RuleArgs,
        #[command(flatten)]
        fields: RuleFields,
    },
    /// Delete a rule
    Delete {
        #[command(flatten)]
        rule: RuleArgs,
        /// Skip the confirmation
        #[arg(long)]
        yes: bool,
    },
}

/// A rule of a repository.
#[derive(Args, Debug)]
pub(crate) struct RuleArgs {
    /// Repository
    #[arg(value_name = "OWNER/NAME")]
    pub(crate) repo: RepositoryPath,
    /// Branches: a name, or a glob such as release/*. Tags: a glob, or a regular expression between slashes
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,
    /// The rule is for tags: only the listed users and teams may create, move and delete them
    #[arg(long)]
    pub(crate) tags: bool,
}

/// Who may do something, among those who may write to the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Who {
    Everyone,
    Listed,
    Nobody,
}

/// The fields of a rule.
#[derive(Args, Debug, Default)]
pub(crate) struct RuleFields {
    /// Who may push [default of new rules: listed with --users, --teams or --deploy-keys, else everyone]
    #[arg(long, value_name = "WHO", value_enum, conflicts_with = "tags")]
    pub(crate) push: Option<Who>,
    /// Users who may push, or change tags, separated by commas; empty: no user
    #[arg(long, value_name = "NAMES")]
    pub(crate) users: Option<String>,
    /// Teams whose members may push, or change tags, separated by commas; empty: no team
    #[arg(long, value_name = "NAMES")]
    pub(crate) teams: Option<String>,
    /// Whether deploy keys that may write are among those who may push
    #[arg(long, value_name = "true|false", conflicts_with = "tags")]
    pub(crate) deploy_keys: Option<bool>,
    /// Which of those who may push may also push with force [default of new rules: listed with --force-users or
    /// --force-teams, else nobody]
    #[arg(long, value_name = "WHO", value_enum, conflicts_with = "tags")]
    pub(crate) force: Option<Who>,
    /// Users who may push with force, separated by commas
    #[arg(long, value_name = "NAMES", conflicts_with = "tags")]
    pub(crate) force_users: Option<String>,
    /// Teams whose members may push with force, separated by commas
    #[arg(long, value_name = "NAMES", conflicts_with = "tags")]
    pub(crate) force_teams: Option<String>,
    /// Globs of files that pushes may not change, separated by semicolons
    #[arg(long, value_name = "GLOBS", conflicts_with = "tags")]
    pub(crate) files: Option<String>,
    /// Globs of files that --files does not protect, separated by semicolons
    #[arg(long, value_name = "GLOBS", conflicts_with = "tags")]
    pub(crate) except_files: Option<String>,
    /// Whether commits must be signed with a key of the committer; this also refuses commits that the daemon creates
    #[arg(long, value_name = "true|false", conflicts_with = "tags")]
    pub(crate) signed: Option<bool>,
    /// Priority; of the rules that match a branch, the one with the lowest decides [default of new rules: after all
    /// others]
    #[arg(long, value_name = "N", conflicts_with = "tags", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) priority: Option<i64>,
}

impl RuleFields {
    /// Returns the request to change a branch rule.
    pub(crate) fn branch_request(&self) -> api::ChangeBranchProtection {
        api::ChangeBranchProtection {
            enable_push: self.push.map(|who| who != Who::Nobody),
            enable_push_whitelist: self.push.map(|who| who == Who::Listed),
            push_whitelist_usernames: self.users.as_deref().map(names),
            push_whitelist_teams: self.teams.as_deref().map(names),
            push_whitelist_deploy_keys: self.deploy_keys,
            enable_force_push: self.force.map(|who| who != Who::Nobody),
            enable_force_push_allowlist: self.force.map(|who| who == Who::Listed),
            force_push_allowlist_usernames: self.force_users.as_deref().map(names),
            force_push_allowlist_teams: self.force_teams.as_deref().map(names),
            protected_file_patterns: self.files.clone(),
            unprotected_file_patterns: self.except_files.clone(),
            require_signed_commits: self.signed,
            priority: self.priority,
            ..api::ChangeBranchProtection::default()
        }
    }

    /// Returns the request for a new branch rule.
    pub(crate) fn new_branch_request(mut self, pattern: &str) -> api::ChangeBranchProtection {
        let is_listed = self.users.is_some() || self.teams.is_some() || self.deploy_keys == Some(true);
        self.push = self.push.or(Some(if is_listed { Who::Listed } else { Who::Everyone }));
        let has_force_list = self.force_users.is_some() || self.force_teams.is_some();
        self.force = self.force.or(has_force_list.then_some(Who::Listed));
        api::ChangeBranchProtection { rule_name: Some(pattern.to_owned()), ..self.branch_request() }
    }

    /// Returns the request to change a tag rule.
    pub(crate) fn tag_request(&self) -> api::ChangeTagProtection {
        api::ChangeTagProtection {
            name_pattern: None,
            whitelist_usernames: self.users.as_deref().map(names),
            whitelist_teams: self.teams.as_deref().map(names),
        }
    }
}

/// Returns the names in a list that is separated by commas.
fn names(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
