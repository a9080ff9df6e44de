//! The tabs of an organization and of a team: their order, their names and keys, and the texts for empty lists.

use crate::ui::keymap::Scope;

/// A tab of an organization, or of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrganizationTab {
    Teams,
    Members,
    Repositories,
    /// The permission and the units of a team.
    Rights,
    TeamMembers,
    TeamRepositories,
}

impl OrganizationTab {
    pub(super) const OF_ORGANIZATION: [Self; 3] = [Self::Teams, Self::Members, Self::Repositories];
    pub(super) const OF_TEAM: [Self; 3] = [Self::Rights, Self::TeamMembers, Self::TeamRepositories];

    /// Returns the tabs beside this one.
    pub(super) fn row(self) -> [Self; 3] {
        if Self::OF_TEAM.contains(&self) { Self::OF_TEAM } else { Self::OF_ORGANIZATION }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Teams => "Teams",
            Self::Members | Self::TeamMembers => "Members",
            Self::Repositories | Self::TeamRepositories => "Repositories",
            Self::Rights => "Rights",
        }
    }

    /// Returns the plural noun of the rows.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Teams => "teams",
            Self::Members | Self::TeamMembers => "members",
            Self::Repositories | Self::TeamRepositories => "repositories",
            Self::Rights => "",
        }
    }

    /// Returns the lines for an empty list.
    pub(super) fn empty(self) -> &'static [&'static str] {
        match self {
            Self::Teams => &["No teams.", "", "n   creates one"],
            Self::Members => &["No members that you may see."],
            Self::Repositories => &["No repositories that you may see."],
            Self::Rights => &[],
            Self::TeamMembers => &["No members.", "", "n   adds one"],
            Self::TeamRepositories => &["No repositories that you may see.", "", "n   adds one"],
        }
    }

    /// Returns the scope of the keys.
    pub(super) fn scope(self) -> Scope {
        match self {
            Self::Teams => Scope::Teams,
            Self::Members => Scope::Members,
            Self::Repositories => Scope::OrganizationRepositories,
            Self::Rights => Scope::Team,
            Self::TeamMembers => Scope::TeamMembers,
            Self::TeamRepositories => Scope::TeamRepositories,
        }
    }

    /// Returns the tab that is `by` tabs to the right; the first one follows the last.
    pub(super) fn step(self, by: usize) -> Self {
        let row = self.row();
        let at = row.iter().position(|tab| *tab == self).unwrap_or(0);
        row[(at + by) % row.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_of_a_team_and_of_an_organization_do_not_mix() {
        assert_eq!(OrganizationTab::Teams.step(1), OrganizationTab::Members);
        assert_eq!(OrganizationTab::Teams.step(2), OrganizationTab::Repositories);
        assert_eq!(OrganizationTab::TeamRepositories.step(1), OrganizationTab::Rights);
    }
}
