//! The tabs of a repository: their order, their names and keys, and the texts for empty lists.

use crate::ui::{keymap::Scope, words};

/// A tab of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepositoryTab {
    Overview,
    Files,
    Commits,
    Branches,
    Tags,
    Releases,
    Rules,
    Collaborators,
    DeployKeys,
    Mirrors,
    Hooks,
    Artifacts,
}

impl RepositoryTab {
    pub(super) const ALL: [Self; 12] = [
        Self::Overview,
        Self::Files,
        Self::Commits,
        Self::Branches,
        Self::Tags,
        Self::Releases,
        Self::Rules,
        Self::Collaborators,
        Self::DeployKeys,
        Self::Mirrors,
        Self::Hooks,
        Self::Artifacts,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Files => "Files",
            Self::Commits => "Commits",
            Self::Branches => "Branches",
            Self::Tags => "Tags",
            Self::Releases => "Releases",
            Self::Rules => "Rules",
            Self::Collaborators => "Collaborators",
            Self::DeployKeys => "Deploy keys",
            Self::Mirrors => "Mirrors",
            Self::Hooks => "Hooks",
            Self::Artifacts => "Artifacts",
        }
    }

    /// Returns the plural noun of the rows.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Overview => "",
            Self::Files => "files",
            Self::Commits => "commits",
            Self::Branches => "branches",
            Self::Tags => "tags",
            Self::Releases => "releases",
            Self::Rules => "rules",
            Self::Collaborators => "collaborators",
            Self::DeployKeys => "deploy keys",
            Self::Mirrors => "mirrors",
            Self::Hooks => "hooks",
            Self::Artifacts => "artifacts",
        }
    }

    /// Formats a number of rows: `14 branches`.
    pub(super) fn counted(self, count: i64) -> String {
        let one = match self {
            Self::Overview => return String::new(),
            Self::Files => "file",
            Self::Commits => "commit",
            Self::Branches => "branch",
            Self::Tags => "tag",
            Self::Releases => "release",
            Self::Rules => "rule",
            Self::Collaborators => "collaborator",
            Self::DeployKeys => "deploy key",
            Self::Mirrors => "mirror",
            Self::Hooks => "hook",
            Self::Artifacts => "artifact",
        };
        format!("{} {}", words::count(count), if count == 1 { one } else { self.noun() })
    }

    /// Returns the lines for an empty list.
    pub(super) fn empty(self) -> &'static [&'static str] {
        match self {
            Self::Overview => &[],
            Self::Files => &["No files: nothing was pushed yet.", "", "y h   copies the address to push to"],
            Self::Commits => &["No commits: nothing was pushed yet.", "", "y h   copies the address to push to"],
            Self::Branches => &["No branches: nothing was pushed yet.", "", "y h   copies the address to push to"],
            Self::Tags => &["No tags.", "", "n   creates one"],
            Self::Releases => &["No releases.", "", "farrier release create   creates one"],
            Self::Rules => &["No rules: all branches accept pushes.", "", "n   shows how to add one"],
            Self::Collaborators => &["No collaborators.", "", "n   adds one"],
            Self::DeployKeys => &["No deploy keys.", "", "n   adds one"],
            Self::Mirrors => &["No mirrors.", "", "farrier mirror add   adds one"],
            Self::Hooks => &["This repository has no hooks.", "", "w   shows its hooks; n creates one there"],
            Self::Artifacts => &["No run of this repository has artifacts.", "", "o   shows its runs"],
        }
    }

    /// Returns the scope of the keys in the list.
    pub(super) fn scope(self) -> Scope {
        match self {
            Self::Overview => Scope::Repository,
            Self::Files => Scope::Files,
            Self::Commits => Scope::Commits,
            Self::Branches => Scope::Branches,
            Self::Tags => Scope::Tags,
            Self::Releases => Scope::Releases,
            Self::Rules => Scope::Rules,
            Self::Collaborators => Scope::Collaborators,
            Self::DeployKeys => Scope::DeployKeys,
            Self::Mirrors => Scope::Mirrors,
            Self::Hooks => Scope::RepositoryHooks,
            Self::Artifacts => Scope::RepositoryArtifacts,
        }
    }

    /// Returns the access that changes of the rows require.
    pub(super) fn required_access(self) -> &'static str {
        if matches!(self, Self::Releases | Self::Artifacts) { "write" } else { "admin" }
    }

    /// Returns the tab that is `by` tabs to the right; the first one follows the last.
    pub(super) fn step(self, by: usize) -> Self {
        let at = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Self::ALL[(at + by) % Self::ALL.len()]
    }
}
