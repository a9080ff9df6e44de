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
    /// Read its runs and artifacts.
    ReadActions,
    /// Begin runs, delete artifacts, change how long they are kept.
    WriteActions,
}

/// What a caller may do with a repository. Computed once per request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// A local CI agent. Not part of the order of the other levels, see [`AccessLevel::allows`].
    CiAgent {
        /// Whether the repository is public.
        sees: bool,
    },
}

impl AccessLevel {
    /// Returns whether this level permits `action`.
    pub fn allows(self, action: Action) -> bool {
        if let Self::CiAgent { sees } = self {
            return match action {
                Action::Read => sees,
                Action::ReadActions | Action::WriteActions => true,
                Action::Write | Action::Administer | Action::Own => false,
            };
        }
        self >= match action {
            Action::Read | Action::ReadActions => Self::Reader,
            Action::Write | Action::WriteActions => Self::Writer,
            Action::Administer => Self::Administrator,
            Action::Own => Self::Owner,
        }
    }
}
