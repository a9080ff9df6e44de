//! The actions of keys and commands, and the kinds of objects that they apply to.

use crate::ui::screens::ScreenId;

/// The action of a key.
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
    /// Shows the tab with this index inside the screen.
    Part(usize),
    /// Shows the chart of the next period.
    NextSpan,
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
    /// Goes back in the history of places.
    PreviousPlace,
    /// Goes forward in the history of places.
    NextPlace,
    /// Shows a menu of the objects that belong to the object under the cursor.
    Related,
    /// Goes from the object under the cursor to the nearest object of a kind.
    GoToHook,
    GoToRepository,
    GoToRun,
    GoToArtifacts,
    GoToPush,
    New,
    NewBranch,
    NewTag,
    NewToken,
    /// Revokes tokens.
    Revoke,
    /// Shows what a user did.
    AuditTrail,
    Migrate,
    Edit,
    Delete,
    DeleteBranch,
    DeleteTag,
    /// Adds a row to the shown list of a repository or user, such as a collaborator or a key.
    AddEntry,
    /// Changes a row of such a list.
    ChangeEntry,
    /// Deletes a row of such a list.
    DeleteEntry,
    /// Syncs a pull mirror, or runs the push mirrors.
    SyncMirrors,
    /// Shows the commits that changed a file or directory.
    History,
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
    ChooseHost,
    Wrap,
    Hex,
    Pager,
    NextMatch,
    PreviousMatch,
    ChooseEvent,
    Undo,
    NextItem,
    PreviousItem,
    /// Sends a delivery once to another URL.
    Replay,
    /// Sends a delivery once with an edited payload.
    EditPayload,
    /// Compares the signature of a delivery with a secret.
    CheckSignature,
    /// Turns an inactive hook on, and an active one off.
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
    CancelTask,
    /// Keeps the cursor on the newest row, or stops that.
    Follow,
    /// Shows or hides the requests of this program.
    OwnRequests,
    Wide,
    Mouse,
    StartDaemon,
    TypeToken,
    SocketIdentity,
}

impl Action {
    /// Returns whether the action only moves a cursor.
    pub(crate) fn moves(self) -> bool {
        use Action::{Down, First, HalfDown, HalfUp, Last, PageDown, PageUp, Up};
        matches!(self, Up | Down | First | Last | PageUp | PageDown | HalfUp | HalfDown)
    }
}

/// A kind of object that an action or a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    Repository,
    Branch,
    Hook,
    Delivery,
    Run,
    Task,
    Artifact,
    AuditEntry,
    LogRecord,
    CacheEntry,
    User,
    Token,
    /// An SSH key or an OpenPGP key of a user.
    Key,
    Organization,
    Team,
    /// A member of an organization or of a team.
    Member,
    /// A repository in the list of an organization or of a team.
    ListedRepository,
    DeletedRepository,
    DeletedArtifact,
    /// A push or another event, or a problem of the dashboard.
    Event,
    /// A context of the configuration file.
    Context,
    /// A built-in theme, or one of the configuration file.
    Theme,
    /// The host of the URL of a hook.
    HookHost,
}

impl Object {
    /// Returns the placeholder in a command.
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Self::Repository | Self::ListedRepository => "OWNER/NAME",
            Self::Organization => "ORG",
            Self::Team => "ORG TEAM",
            Self::Branch => "BRANCH",
            Self::Token
            | Self::Key
            | Self::Hook
            | Self::Run
            | Self::Task
            | Self::Artifact
            | Self::AuditEntry
            | Self::LogRecord
            | Self::CacheEntry
            | Self::DeletedArtifact
            | Self::Event => "ID",
            Self::DeletedRepository => "OWNER/NAME|ID",
            Self::Delivery => "DELIVERY",
            Self::User | Self::Member | Self::Context | Self::Theme => "NAME",
            Self::HookHost => "HOST",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Repository | Self::ListedRepository => "repository",
            Self::Branch => "branch",
            Self::Hook => "hook",
            Self::Delivery => "delivery",
            Self::Run => "run",
            Self::Task => "task",
            Self::Artifact => "artifact",
            Self::AuditEntry => "audit entry",
            Self::LogRecord => "log record",
            Self::CacheEntry => "cache entry",
            Self::User => "user",
            Self::Token => "token",
            Self::Key => "key",
            Self::Organization => "organization",
            Self::Team => "team",
            Self::Member => "member",
            Self::DeletedRepository => "deleted repository",
            Self::DeletedArtifact => "deleted artifact",
            Self::Event => "event",
            Self::Context => "context",
            Self::Theme => "theme",
            Self::HookHost => "host",
        }
    }
}
