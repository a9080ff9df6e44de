//! The table of keys and commands.
//!
//! Key dispatch, the hint line, help, the menu of actions, the palette and the manual page all read this table, so
//! they are always consistent. Screens carry out the actions.

mod action;
mod bindings;
mod commands;
mod settings;
mod shell;
pub(crate) mod synonyms;

use std::ptr;

pub(crate) use self::{
    action::{Action, Object},
    bindings::BINDINGS,
    commands::TYPED_COMMANDS,
    settings::manual,
    shell::{Expected, SHELL_COMMANDS, expected},
};
use super::key::Key;

/// The context in which a binding is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// No daemon was found.
    Nowhere,
    /// The daemon does not respond any more.
    Away,
    /// The daemon refuses the requests of this caller.
    Refused,
    /// The request for the shown data failed.
    Failed,
    /// The request failed with a request ID that the daemon's log contains.
    FailedRequest,
    Everywhere,
    List,
    /// Moving in lists and texts.
    Moves,
    Dashboard,
    Repositories,
    Repository,
    Files,
    Commits,
    Branches,
    Tags,
    Releases,
    Rules,
    Collaborators,
    DeployKeys,
    Mirrors,
    /// An opened file or commit of a repository.
    RepositoryText,
    /// The hooks of a repository, in its tab.
    RepositoryHooks,
    /// The artifacts of a repository, in its tab.
    RepositoryArtifacts,
    Artifacts,
    Runs,
    /// The jobs and artifacts of a run.
    RunParts,
    Tasks,
    Logs,
    Audit,
    Caches,
    Users,
    /// The tokens of a user.
    Tokens,
    /// The SSH keys and OpenPGP keys of a user.
    AccountKeys,
    Organizations,
    /// The teams, members and repositories of an organization.
    Teams,
    Members,
    OrganizationRepositories,
    /// The rights of a team.
    Team,
    TeamMembers,
    TeamRepositories,
    Hooks,
    Deliveries,
    Inspector,
    DeliveryGroups,
    DeletedRepositories,
    DeletedArtifacts,
}

/// Keys and their action.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub(crate) scope: Scope,
    pub(crate) keys: &'static [Key],
    pub(crate) action: Action,
    /// Title for help and menus.
    pub(crate) title: &'static str,
    /// Text for the hint line; empty: not shown there.
    pub(crate) hint: &'static str,
    /// Command for the palette; empty: not available there.
    pub(crate) words: &'static str,
    /// Other search words for help and palette.
    pub(crate) also: &'static str,
    /// The kind of object that the action needs; `None` for an action of a whole screen.
    pub(crate) object: Option<Object>,
    /// Whether the action changes something on the daemon.
    pub(crate) changes: bool,
}

/// All bindings: the default table, or the table with the user's changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keymap(&'static [Binding]);

impl Default for Keymap {
    fn default() -> Self {
        Self(BINDINGS)
    }
}

impl Keymap {
    pub(crate) fn all(self) -> &'static [Binding] {
        self.0
    }

    /// Returns the bindings of `scopes` whose first key no more specific binding uses.
    pub(crate) fn reachable(self, scopes: &[Scope]) -> impl Iterator<Item = &'static Binding> + use<'_> {
        let own = move |binding: &Binding, key: &Key| self.find(scopes, *key).is_some_and(|one| ptr::eq(one, binding));
        self.of(scopes).filter(move |binding| binding.keys.first().is_none_or(|key| own(binding, key)))
    }

    /// Returns the commands without a key: words with their argument, and their titles.
    pub(crate) fn only_words(self) -> impl Iterator<Item = (String, &'static str)> {
        let without_key = self.0.iter().filter(|binding| binding.keys.is_empty() && !binding.words.is_empty());
        let without_key = without_key.map(|binding| {
            let argument = binding.object.map_or_else(String::new, |object| format!(" {}", object.argument()));
            (format!("{}{argument}", binding.words), binding.title)
        });
        let typed = TYPED_COMMANDS.iter().map(|one| (format!("{} {}", one.words, one.argument), one.title));
        without_key.chain(typed)
    }

    /// Returns the bindings of `scopes`, which are ordered from the most specific to the most general.
    pub(crate) fn of(self, scopes: &[Scope]) -> impl Iterator<Item = &'static Binding> + use<'_> {
        scopes.iter().flat_map(move |scope| self.0.iter().filter(|binding| binding.scope == *scope))
    }

    /// Returns the binding of `key` in `scopes`.
    pub(crate) fn find(self, scopes: &[Scope], key: Key) -> Option<&'static Binding> {
        self.of(scopes).find(|binding| binding.keys.contains(&key))
    }
}

#[cfg(test)]
mod tests {
    use super::{Action as A, Key::Char as C, *};

    #[test]
    fn no_key_has_two_actions_in_one_scope() {
        let mut seen = std::collections::HashSet::new();
        for binding in BINDINGS {
            for key in binding.keys {
                assert!(seen.insert((format!("{:?}", binding.scope), *key)), "{:?} {key:?}", binding.scope);
            }
        }
    }

    #[test]
    fn actions_have_a_command_or_a_key_without_ctrl() {
        let only_control = |binding: &&Binding| binding.keys.iter().all(|key| matches!(key, Key::Ctrl(_)));
        let names: Vec<&str> =
            BINDINGS.iter().filter(only_control).filter(|b| b.words.is_empty()).map(|b| b.title).collect();
        // Exceptions: half pages have the page keys as an alternative, and Ctrl+Z is the usual key to suspend.
        assert_eq!(names, ["Half a page down", "Half a page up", "Suspend"]);
    }

    #[test]
    fn destructive_actions_have_only_uppercase_keys() {
        let destroys = |action| {
            matches!(
                action,
                A::Delete
                    | A::DeleteBranch
                    | A::DeleteTag
                    | A::DeleteEntry
                    | A::Purge
                    | A::Redeliver
                    | A::Recover
                    | A::Replay
                    | A::EditPayload
                    | A::Migrate
                    | A::Apply
            )
        };
        for binding in BINDINGS.iter().filter(|binding| destroys(binding.action)) {
            assert!(binding.keys.iter().all(|key| matches!(key, C(c) if c.is_uppercase())), "{}", binding.title);
            assert!(binding.changes, "{}", binding.title);
        }
    }

    #[test]
    fn palette_commands_use_the_spelling_of_the_cli_subcommands() {
        use clap::CommandFactory as _;
        let cli = crate::args::Cli::command();
        let words = BINDINGS.iter().map(|one| one.words).chain(TYPED_COMMANDS.iter().map(|one| one.words));
        for words in
            words.filter(|words| words.split(' ').next().is_some_and(|first| cli.find_subcommand(first).is_some()))
        {
            let mut command = &cli;
            for word in words.split(' ').filter(|word| !word.starts_with('-')) {
                // `run ID` and `artifact ID` are short forms that exist only in the full screen.
                let Some(next) = command.find_subcommand(word) else { panic!("no `farrier {words}`") };
                command = next;
            }
            for flag in words.split(' ').filter_map(|word| word.strip_prefix("--")) {
                assert!(command.get_arguments().any(|one| one.get_long() == Some(flag)), "no --{flag} in {words}");
            }
        }
    }
}
