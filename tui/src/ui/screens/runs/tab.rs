//! The tabs of the list of runs.

/// Which runs the daemon lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RunTab {
    #[default]
    All,
    Running,
    Completed,
    Failed,
}

impl RunTab {
    pub(super) const ALL: [Self; 4] = [Self::All, Self::Running, Self::Completed, Self::Failed];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// Returns the status and the conclusion that the daemon filters by; empty for any.
    pub(super) fn filter(self) -> (&'static str, &'static str) {
        match self {
            Self::All => ("", ""),
            Self::Running => ("in_progress", ""),
            Self::Completed => ("completed", ""),
            Self::Failed => ("", "failure"),
        }
    }

    /// Returns the tab with this filter. A status adds nothing to the conclusion `failure`, which only completed runs
    /// have.
    pub(crate) fn of(status: &str, conclusion: &str) -> Option<Self> {
        match (status, conclusion) {
            ("completed", "failure") => Some(Self::Failed),
            filter => Self::ALL.into_iter().find(|tab| tab.filter() == filter),
        }
    }

    /// Returns the tab after this one, or before it.
    pub(super) fn beside(self, next: bool) -> Self {
        let step = if next { 1 } else { Self::ALL.len() - 1 };
        Self::ALL[(self as usize + step) % Self::ALL.len()]
    }
}
