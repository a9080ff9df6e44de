//! Access levels of repositories, and the actions that each level permits. Pure.

/// An action of a caller on a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read the repository and its content.
    Read,
    /// Push; create and delete branches and tags.
    Write,
    /// Change its settings and collaborators.
    Administer,
    /// Delete or transfer it.
    Own,
    /// Read its published releases and their files.
    ReadReleases,
    /// Create, change and delete releases and their files; read drafts.
    WriteReleases,
    /// Read its runs and artifacts.
    ReadActions,
    /// Begin runs, delete artifacts, change how long they are kept.
    WriteActions,
}

/// What a caller may do in one unit of a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitLevel {
    /// Nothing.
    #[default]
    None,
    /// Read.
    Read,
    /// Read and change.
    Write,
}

/// What a caller may do in the units of a repository that have an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitLevels {
    /// Git, files, commits, branches, tags and LFS. Without it, the repository is hidden.
    pub code: UnitLevel,
    /// Releases and their files.
    pub releases: UnitLevel,
    /// Runs, jobs, artifacts and caches.
    pub actions: UnitLevel,
}

impl UnitLevels {
    /// Returns the same level for all units.
    pub const fn all(level: UnitLevel) -> Self {
        Self { code: level, releases: level, actions: level }
    }

    fn highest(self, other: Self) -> Self {
        Self {
            code: self.code.max(other.code),
            releases: self.releases.max(other.releases),
            actions: self.actions.max(other.actions),
        }
    }
}

/// What a caller may do with a repository. Computed once per request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLevel {
    /// No access; the caller must not learn that the repository exists.
    Hidden,
    /// May read.
    Reader,
    /// May push.
    Writer,
    /// May change settings.
    Administrator,
    /// The owner, an owner of the organization, or a site administrator.
    Owner,
    /// Rights that differ by unit, through teams.
    Units(UnitLevels),
    /// A local CI agent.
    CiAgent {
        /// Whether the repository is public.
        sees: bool,
    },
}

impl AccessLevel {
    /// Returns the access level for these levels of units.
    pub fn of_units(units: UnitLevels) -> Self {
        match units {
            units if units == UnitLevels::all(UnitLevel::None) => Self::Hidden,
            units if units == UnitLevels::all(UnitLevel::Read) => Self::Reader,
            units if units == UnitLevels::all(UnitLevel::Write) => Self::Writer,
            units => Self::Units(units),
        }
    }

    /// Returns what at least one of two access levels of an account permits.
    #[must_use]
    pub fn highest(self, other: Self) -> Self {
        match (self, other) {
            (Self::Owner, _) | (_, Self::Owner) => Self::Owner,
            (Self::Administrator, _) | (_, Self::Administrator) => Self::Administrator,
            _ => Self::of_units(self.units().highest(other.units())),
        }
    }

    fn units(self) -> UnitLevels {
        UnitLevels::all(match self {
            Self::Units(units) => return units,
            Self::CiAgent { sees } => {
                let level = if sees { UnitLevel::Read } else { UnitLevel::None };
                return UnitLevels { code: level, releases: level, actions: UnitLevel::Write };
            }
            Self::Hidden => UnitLevel::None,
            Self::Reader => UnitLevel::Read,
            Self::Writer | Self::Administrator | Self::Owner => UnitLevel::Write,
        })
    }

    /// Returns whether this level permits `action`.
    pub fn allows(self, action: Action) -> bool {
        let units = self.units();
        // Callers who do not see the repository do not see its releases and runs. Agents report runs of all
        // repositories.
        let sees = units.code >= UnitLevel::Read || matches!(self, Self::CiAgent { .. });
        sees && match action {
            Action::Read => units.code >= UnitLevel::Read,
            Action::Write => units.code >= UnitLevel::Write,
            Action::ReadReleases => units.releases >= UnitLevel::Read,
            Action::WriteReleases => units.releases >= UnitLevel::Write,
            Action::ReadActions => units.actions >= UnitLevel::Read,
            Action::WriteActions => units.actions >= UnitLevel::Write,
            Action::Administer => matches!(self, Self::Administrator | Self::Owner),
            Action::Own => self == Self::Owner,
        }
    }
}

#[cfg(test)]
mod tests {
    use UnitLevel::{None, Read, Write};

    use super::*;

    #[test]
    fn rights_of_teams_are_added_unit_by_unit() {
        let units = |code, releases, actions| AccessLevel::of_units(UnitLevels { code, releases, actions });
        let (a, b) = (units(Read, None, None), units(None, Write, None));
        assert_eq!(a.highest(b), units(Read, Write, None));
        assert_eq!(a.highest(AccessLevel::Reader), AccessLevel::Reader);
        assert_eq!(units(Write, Write, Read).highest(units(Read, None, Write)), AccessLevel::Writer);
        assert_eq!(a.highest(AccessLevel::Administrator), AccessLevel::Administrator);
        assert_eq!(AccessLevel::Hidden.highest(AccessLevel::Hidden), AccessLevel::Hidden);
    }

    #[test]
    fn a_repository_without_the_unit_code_is_hidden() {
        let only_others = AccessLevel::of_units(UnitLevels { code: None, releases: Write, actions: Write });
        for action in [Action::Read, Action::ReadReleases, Action::WriteReleases, Action::ReadActions] {
            assert!(!only_others.allows(action), "{action:?}");
        }
        let public = only_others.highest(AccessLevel::Reader);
        assert!(public.allows(Action::WriteReleases) && public.allows(Action::WriteActions));
        assert!(!public.allows(Action::Write) && !public.allows(Action::Administer));
    }
}
