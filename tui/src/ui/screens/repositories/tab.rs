//! The tabs of a repository: their order, their names, and the texts for empty lists.

use crate::ui::words;

/// A tab of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepositoryTab {
    Overview,
    Files,
    Commits,
    Branches,
    Tags,
    Hooks,
    Artifacts,
}

impl RepositoryTab {
    pub(super) const ALL: [Self; 7] =
        [Self::Overview, Self::Files, Self::Commits, Self::Branches, Self::Tags, Self::Hooks, Self::Artifacts];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Files => "Files",
            Self::Commits => "Commits",
            Self::Branches => "Branches",
            Self::Tags => "Tags",
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
            Self::Tags => &["No tags."],
            Self::Hooks => &["This repository has no hooks.", "", "w   shows its hooks; n creates one there"],
            Self::Artifacts => &["No run of this repository has artifacts.", "", "o   shows its runs"],
        }
    }

    /// Returns the tab that is `by` tabs to the right; the first one follows the last.
    pub(super) fn step(self, by: usize) -> Self {
        let at = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Self::ALL[(at + by) % Self::ALL.len()]
    }
}
