//! What a key or a command does, and what kind of thing it does it to.

use crate::ui::screens::ScreenId;

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Up,
    Down,
    First,
    Last,
    PageUp,
    PageDown,
    HalfUp,
    HalfDown,
    Open,
    Back,
    OtherPane,
    NextPart,
    PreviousPart,
    FullPane,
    Filter,
    Sort,
    Reverse,
    Mark,
    MarkRange,
    MarkAll,
    Problems,
    Copy,
    Menu,
    Palette,
    Help,
    Refresh,
    Pause,
    Messages,
    Details,
    CopyRequest,
    Repaint,
    Redetect,
    Quit,
    Leave,
    Suspend,
    Screen(ScreenId),
    LastScreen,
    New,
    NewBranch,
    Migrate,
    Edit,
    Delete,
    DeleteBranch,
    /// Restores a deleted object.
    Restore,
    /// Deletes a deleted object permanently.
    Purge,
    Artifacts,
    Download,
    Hooks,
    Redeliver,
    Recover,
    ChooseHook,
    Wrap,
    Hex,
    Pager,
    NextMatch,
    PreviousMatch,
    ChooseEvent,
    Undo,
    NextItem,
    PreviousItem,
    /// Turns a hook on if it is off, and off if it is on.
    Toggle,
    TurnOn,
    TurnOff,
    Test,
    Clone,
    Apply,
    Archive,
    Inside,
    Fold,
    Unfold,
    StopTransfer,
    CancelMigration,
    CancelRun,
    Wide,
    Mouse,
    StartDaemon,
    TypeToken,
    SocketIdentity,
}

impl Action {
    /// Whether it moves a cursor and does nothing else.
    pub(crate) fn moves(self) -> bool {
        use Action::{Down, First, HalfDown, HalfUp, Last, PageDown, PageUp, Up};
        matches!(self, Up | Down | First | Last | PageUp | PageDown | HalfUp | HalfDown)
    }
}

/// A kind of thing that an action or a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    Repository,
    Branch,
    Hook,
    Delivery,
    Run,
    Artifact,
    DeletedRepository,
    DeletedArtifact,
}

impl Object {
    /// How it is written behind a command.
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Self::Repository => "OWNER/NAME",
            Self::Branch => "BRANCH",
            Self::Hook | Self::Run | Self::Artifact | Self::DeletedArtifact => "ID",
            Self::DeletedRepository => "OWNER/NAME|ID",
            Self::Delivery => "DELIVERY",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::Branch => "branch",
            Self::Hook => "hook",
            Self::Delivery => "delivery",
            Self::Run => "run",
            Self::Artifact => "artifact",
            Self::DeletedRepository => "deleted repository",
            Self::DeletedArtifact => "deleted artifact",
        }
    }
}
