//! State that all screens read, and commands that screens send to the application.
//!
//! A screen changes only its own state. For everything else it creates a [`Cmd`], which the application or the main
//! loop carries out. This module contains only data.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    time::Duration,
};

use farrier_common::{API_LEVEL, api::Status};
use ratatui::layout::{Position, Rect, Size};

use super::{
    caps::Appearance,
    keymap::Keymap,
    layer::Layer,
    net::{Problem, ProblemKind, Reconnect, Request},
    redacted::Redacted,
    screens::{GroupFilter, ScreenId},
    starter::Starter,
    times::Clock,
    transfers::Transfers,
};
use crate::config::Context;

/// If no response arrives for this long, the screen shows it.
const SILENT_AFTER: Duration = Duration::from_secs(3);

/// The address of a daemon to which no connection was opened yet.
pub(crate) const UNKNOWN_ADDRESS: &str = "the daemon";

/// The state of the connection to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// No response yet.
    Connecting,
    /// The last request was answered.
    Up,
    /// The daemon does not respond: since when, and when the next try is.
    Down { since: Duration, tries: u32, again_at: Duration, problem: Problem },
    /// The daemon refuses the requests of this caller.
    Refused { problem: Problem },
}

impl Link {
    /// Returns the mark beside the server's name.
    pub(crate) fn mark(&self) -> &'static str {
        match self {
            Self::Connecting => "..",
            Self::Up => "ok",
            Self::Down { .. } => "--",
            Self::Refused { .. } => "!!",
        }
    }
}

/// State shared by all screens.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own that the user holds")]
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) size: Size,
    pub(crate) look: Appearance,
    /// Wall-clock time, for ages.
    pub(crate) clock: Clock,
    /// Monotonic time since the start, for timeouts.
    pub(crate) now: Duration,
    pub(crate) link: Link,
    /// Address of the daemon, for display.
    pub(crate) address: String,
    /// Description of the token in use.
    pub(crate) token: Option<String>,
    /// The daemon that can be started if none runs.
    pub(crate) starter: Option<Starter>,
    /// The last status of the daemon.
    pub(crate) status: Option<Status>,
    /// The context of the daemon, unless it was selected by its address.
    pub(crate) context: Option<Context>,
    pub(crate) read_only: bool,
    pub(crate) keymap: Keymap,
    /// Columns by list name.
    pub(crate) columns: HashMap<String, Vec<String>>,
    /// Actions on more objects than this need the number typed.
    pub(crate) bulk_over: usize,
    /// Whether additional columns are shown.
    pub(crate) wide: bool,
    /// Whether the line to the terminal is slow.
    pub(crate) slow: bool,
    pub(crate) mouse: bool,
    pub(crate) transfers: Transfers,
    /// Whether live updates are paused.
    pub(crate) paused: bool,
    /// Since when a response is overdue.
    pub(crate) waits_since: Option<Duration>,
    /// Until when the cursor is moving: no details are requested for rows that it passes.
    pub(crate) moving_until: Option<Duration>,
    /// Whether the order of rows is frozen, because an open layer refers to them.
    pub(crate) rows_frozen: bool,
    /// Whether the focused pane takes the whole width.
    pub(crate) full_pane: bool,
    /// Whether the third pane has the focus.
    pub(crate) third_has_focus: bool,
    /// Width of the left one of two panes in thousandths, if the user has changed it.
    pub(crate) pane_share: Option<u16>,
    /// Where the line between two panes was last drawn; empty if there is none.
    pub(crate) divider: Cell<Rect>,
    pub(crate) tabs: DrawnTabs,
}

/// The inner tabs that are not shown, as they were last drawn: their areas and their indexes.
#[derive(Clone, Debug, Default)]
pub(crate) struct DrawnTabs(RefCell<Vec<(Rect, usize)>>);

impl DrawnTabs {
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    pub(crate) fn add(&self, area: Rect, index: usize) {
        self.0.borrow_mut().push((area, index));
    }

    /// Returns the index of the tab at a cell.
    pub(crate) fn at(&self, at: Position) -> Option<usize> {
        self.0.borrow().iter().find(|(area, _)| area.contains(at)).map(|(_, index)| *index)
    }
}

impl World {
    /// Returns whether no daemon responds at the default addresses and none has responded before.
    pub(crate) fn has_no_daemon(&self) -> bool {
        self.status.is_none()
            && matches!(&self.link, Link::Down { problem, .. } if problem.kind == ProblemKind::NoDaemon)
    }

    /// Converts a time since the start to wall-clock time.
    pub(crate) fn clock_at(&self, then: Duration) -> String {
        self.clock.time(&(self.clock.now - self.now.saturating_sub(then)).to_string())
    }

    /// Returns how long no response has arrived, if that is long enough to report.
    pub(crate) fn silence(&self) -> Option<Duration> {
        self.waits_since.map(|since| self.now.saturating_sub(since)).filter(|age| *age >= SILENT_AFTER)
    }

    /// Returns whether the rows on the screen may be out of date because the daemon does not respond.
    pub(crate) fn is_stale(&self) -> bool {
        self.silence().is_some() || (matches!(self.link, Link::Down { .. }) && !self.has_no_daemon())
    }

    /// Returns whether list and detail are shown side by side.
    pub(crate) fn split(&self) -> bool {
        self.size.width >= 110 && !self.full_pane
    }

    /// Returns whether there is room for a third pane beside list and detail.
    pub(crate) fn three_panes(&self) -> bool {
        self.size.width >= 180 && !self.full_pane
    }

    /// Returns whether additional columns fit or were requested.
    pub(crate) fn shows_more(&self) -> bool {
        self.wide || self.size.width >= 180
    }

    /// Returns a warning about a daemon with a different API level.
    pub(crate) fn other_level(&self) -> Option<String> {
        let status = self.status.as_ref().filter(|status| status.api_level != API_LEVEL)?;
        let (version, level) = (&status.version, status.api_level);
        Some(format!("daemon {version} has API level {level}, this farrier {API_LEVEL}"))
    }

    /// Returns whether the daemon is marked as a production system.
    pub(crate) fn is_production(&self) -> bool {
        self.context.as_ref().is_some_and(|context| context.production)
    }

    /// Returns whether changes are disabled, independent of the connection.
    pub(crate) fn changes_are_disabled(&self) -> bool {
        self.read_only || self.other_level().is_some()
    }

    /// Returns until when an administrator can restore objects that are deleted now, or that they cannot be
    /// restored. A daemon that does not send the number of days deletes permanently.
    pub(crate) fn after_deletion(&self) -> String {
        match self.status.as_ref().map_or(0, |status| status.restore_days) {
            days @ 1.. => format!("Can be restored until {}.", self.clock.date_in(days)),
            _ => "The deletion is permanent: nothing can be restored.".to_owned(),
        }
    }

    /// Returns why changes are not possible now.
    pub(crate) fn no_changes(&self) -> Option<String> {
        if self.read_only {
            let context = self.context.as_ref().filter(|context| context.server.read_only);
            return Some(context.map_or_else(
                || "--read-only was given".to_owned(),
                |context| format!("the context {} is read-only", context.name),
            ));
        }
        if let Some(level) = self.other_level() {
            return Some(level);
        }
        matches!(self.link, Link::Down { .. }).then(|| "daemon not reachable".to_owned())
    }
}

/// The severity of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Error,
}

/// A command of a screen to the application.
#[derive(Clone, Debug)]
pub(crate) enum Cmd {
    /// Sends a request.
    Send(Request),
    /// Downloads a file, and sends the second request only after it was saved.
    After(Box<(Request, Request)>),
    /// Cancels a request.
    Cancel(Request),
    /// Shows a notice.
    Notify(Tone, String),
    /// Sends a request about objects of another screen, which handles the response.
    SendFor(ScreenId, Request),
    /// Opens a layer above the screen.
    Open(Box<Layer>),
    /// Opens a layer about objects of another screen, which handles the responses to its requests.
    OpenFor(ScreenId, Box<Layer>),
    /// Runs a line of the command line.
    Line(String),
    /// Shows a screen.
    Screen(ScreenId),
    /// Shows a screen with a filter.
    Filtered(ScreenId, String),
    /// Requests the repositories again, because another screen changed them, and puts the cursor on one of them.
    ReloadRepositories(Option<i64>),
    /// Shows the artifacts of a repository, with the cursor on one of them.
    Artifacts(farrier_common::client::RepositoryPath, Option<i64>),
    /// Shows the hooks of a repository, with the cursor on one of them.
    Hooks(farrier_common::client::RepositoryPath, Option<i64>),
    /// Shows a repository, by ID.
    Repository(i64),
    /// Shows a run of any repository, by ID.
    Run(i64),
    /// Shows the deliveries of a hook, or of all.
    Deliveries(Option<u64>),
    /// Shows the deliveries of an event, or of all.
    DeliveriesOf(String),
    /// Shows the deliveries of hooks with this host, or of all.
    DeliveriesOfHost(String),
    /// Shows the deliveries of a group.
    DeliveriesOfGroup(GroupFilter),
    /// Shows the deliveries of a group, with the cursor on the newest failure.
    DeliveriesOfProblem(GroupFilter),
    /// Registers the command that undoes the last change.
    Undo(Box<Cmd>),
    /// Shows one delivery of a hook.
    Inspect(u64, String),
    /// Quits, now or after all downloads.
    Quit { wait: bool },
    /// Changes the daemon or the token.
    Reconnect(Reconnect),
    /// Calls the screen's `cursor_moved` when the cursor stops.
    WhenRested,
    /// Shows a text in the user's pager.
    Page(String),
    /// Copies a text to the clipboard; the second text describes it.
    Copy(String, String),
    /// Copies a text that the notice and the messages must not show.
    CopySecret(Redacted, String),
}

impl Cmd {
    /// Returns whether it only concerns requests, so that the user does not see it.
    pub(crate) fn is_unseen(&self) -> bool {
        matches!(self, Self::Send(_) | Self::Cancel(_) | Self::WhenRested)
    }
}

/// Access of a screen to the shared state and to commands.
#[derive(Debug)]
pub(crate) struct Env<'a> {
    pub(crate) world: &'a World,
    pub(crate) commands: Vec<Cmd>,
}

impl<'a> Env<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        Self { world, commands: Vec::new() }
    }

    /// Queues a command, which the application runs after the screen has returned.
    pub(crate) fn push(&mut self, cmd: Cmd) {
        self.commands.push(cmd);
    }

    pub(crate) fn send(&mut self, request: Request) {
        self.push(Cmd::Send(request));
    }

    /// Returns whether the cursor is still moving. Then details are not requested now: `cursor_moved` is called when it
    /// stops.
    pub(crate) fn is_cursor_moving(&mut self) -> bool {
        let passing = self.world.moving_until.is_some_and(|until| self.world.now < until);
        if passing {
            self.push(Cmd::WhenRested);
        }
        passing
    }

    /// Shows a notice.
    pub(crate) fn notify(&mut self, text: impl Into<String>) {
        self.push(Cmd::Notify(Tone::Plain, text.into()));
    }

    /// Shows an error.
    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.push(Cmd::Notify(Tone::Error, text.into()));
    }

    pub(crate) fn open(&mut self, layer: Layer) {
        self.push(Cmd::Open(Box::new(layer)));
    }
}
