//! What every screen may look at, and what it may want.
//!
//! Screens change nothing but themselves: what goes beyond is a [`Cmd`], which the application
//! carries out or hands to the loop. Nothing here does anything.

use std::{collections::HashMap, time::Duration};

use farrier_common::{API_LEVEL, api::Status};
use ratatui::layout::Size;

use super::{
    caps::Appearance,
    keymap::Keymap,
    layer::Layer,
    net::{Ask, Problem, ProblemKind, Reconnect},
    screens::ScreenId,
    starter::Starter,
    times::Clock,
    transfers::Transfers,
};

/// Without an answer for this long, the screen says so.
const SILENT_AFTER: Duration = Duration::from_secs(3);

/// The link to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nothing was heard yet.
    Connecting,
    /// The last answer came.
    Up,
    /// Nobody answers, since when, and when it is tried again.
    Down { since: Duration, tries: u32, again_at: Duration, problem: Problem },
    /// The daemon answers, but does not want to be asked by this caller.
    Refused { problem: Problem },
}

impl Link {
    /// The mark beside the server's name.
    pub(crate) fn mark(&self) -> &'static str {
        match self {
            Self::Connecting => "..",
            Self::Up => "ok",
            Self::Down { .. } => "--",
            Self::Refused { .. } => "!!",
        }
    }
}

/// The state that all screens share.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own that the user holds")]
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) size: Size,
    pub(crate) look: Appearance,
    /// The time of day, for ages.
    pub(crate) clock: Clock,
    /// Time since the start, for waiting; it never jumps.
    pub(crate) now: Duration,
    pub(crate) link: Link,
    /// Where the daemon is, in words.
    pub(crate) place: String,
    /// Which token the daemon is shown, in words.
    pub(crate) token: Option<String>,
    /// The daemon that could be started when there is none.
    pub(crate) starter: Option<Starter>,
    /// What the daemon last said of itself.
    pub(crate) status: Option<Status>,
    pub(crate) read_only: bool,
    pub(crate) keymap: Keymap,
    /// Columns by the name of their list.
    pub(crate) columns: HashMap<String, Vec<String>>,
    /// More than so many things at once want their number typed.
    pub(crate) bulk_over: usize,
    /// Whether columns are shown that are left out otherwise.
    pub(crate) wide: bool,
    /// Whether the line to the terminal is slow.
    pub(crate) slow: bool,
    pub(crate) mouse: bool,
    pub(crate) transfers: Transfers,
    /// Whether live data stand still.
    pub(crate) paused: bool,
    /// Since when an answer is due that has not come.
    pub(crate) waits_since: Option<Duration>,
    /// The cursor is on its way until then: nobody asks about what it only passes.
    pub(crate) moving_until: Option<Duration>,
    /// Whether rows must keep their places, since something that is about them lies over them.
    pub(crate) still: bool,
    /// Whether the focused pane takes the whole width.
    pub(crate) full_pane: bool,
}

impl World {
    /// Whether no daemon answers where daemons usually are, and none has answered before.
    pub(crate) fn is_nowhere(&self) -> bool {
        self.status.is_none()
            && matches!(&self.link, Link::Down { problem, .. } if problem.kind == ProblemKind::Nowhere)
    }

    /// When something was, counted from the start, by the clock.
    pub(crate) fn clock_at(&self, then: Duration) -> String {
        self.clock.time(&(self.clock.now - self.now.saturating_sub(then)).to_string())
    }

    /// How long no answer has come, once that is long enough to be reported.
    pub(crate) fn silence(&self) -> Option<Duration> {
        self.waits_since.map(|since| self.now.saturating_sub(since)).filter(|age| *age >= SILENT_AFTER)
    }

    /// Whether the rows on the screen may be out of date because the daemon does not answer.
    pub(crate) fn is_stale(&self) -> bool {
        self.silence().is_some() || (matches!(self.link, Link::Down { .. }) && !self.is_nowhere())
    }

    /// Whether list and detail stand side by side.
    pub(crate) fn split(&self) -> bool {
        self.size.width >= 110 && !self.full_pane
    }

    /// Whether there is room, or a wish, for columns that are left out otherwise.
    pub(crate) fn shows_more(&self) -> bool {
        self.wide || self.size.width >= 180
    }

    /// What is to be said of a daemon that speaks another language than this program.
    pub(crate) fn other_level(&self) -> Option<String> {
        let status = self.status.as_ref().filter(|status| status.api_level != API_LEVEL)?;
        let (version, level) = (&status.version, status.api_level);
        Some(format!("daemon {version} speaks level {level}, this farrier {API_LEVEL}"))
    }

    /// Whether nothing may be changed, whatever becomes of the link.
    pub(crate) fn only_looks(&self) -> bool {
        self.read_only || self.other_level().is_some()
    }

    /// Until when an administrator can restore what is deleted now, or that nobody can. A daemon that does not
    /// send the number of days deletes permanently.
    pub(crate) fn after_deletion(&self) -> String {
        match self.status.as_ref().map_or(0, |status| status.restore_days) {
            days @ 1.. => format!("Can be restored until {}.", self.clock.date_in(days)),
            _ => "The deletion is permanent: nothing can be restored.".to_owned(),
        }
    }

    /// Why nothing can be changed now.
    pub(crate) fn no_changes(&self) -> Option<String> {
        if self.read_only {
            return Some("off: --read-only was given".to_owned());
        }
        if let Some(level) = self.other_level() {
            return Some(format!("off: {level}"));
        }
        matches!(self.link, Link::Down { .. }).then(|| "off until the daemon answers again".to_owned())
    }
}

/// How a notice is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Error,
}

/// What a screen wants beyond itself.
#[derive(Clone, Debug)]
pub(crate) enum Cmd {
    /// Ask the daemon.
    Ask(Ask),
    /// Make a file, and ask only when it has been saved.
    After(Ask, Ask),
    /// Stop asking.
    Cancel(Ask),
    /// Say a line.
    Tell(Tone, String),
    /// Put something over the screen.
    Open(Box<Layer>),
    /// Show a screen.
    Screen(ScreenId),
    /// Show the artifacts of a repository, with the cursor on one of them.
    Artifacts(farrier_common::client::RepositoryPath, Option<i64>),
    /// Show the hooks of a repository, with the cursor on one of them.
    Hooks(farrier_common::client::RepositoryPath, Option<i64>),
    /// Show a repository, by its number.
    Repository(i64),
    /// Show the deliveries of a hook, or of all.
    Deliveries(Option<u64>),
    /// Show the deliveries of an event, or of all.
    DeliveriesOf(String),
    /// What takes back what was just done.
    Undo(Box<Cmd>),
    /// Show one delivery of a hook.
    Inspect(u64, String),
    /// End the program, now or once nothing is fetched any more.
    Quit { wait: bool },
    /// Speak to another daemon, or as somebody else.
    Reconnect(Reconnect),
    /// Tell the screen when the cursor stands still.
    WhenRested,
    /// Show a text in the user's pager.
    Page(String),
    /// Put a text where it can be pasted from; the second says what it is.
    Copy(String, String),
}

/// A screen's hands.
#[derive(Debug)]
pub(crate) struct Env<'a> {
    pub(crate) world: &'a World,
    pub(crate) wants: Vec<Cmd>,
}

impl<'a> Env<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        Self { world, wants: Vec::new() }
    }

    pub(crate) fn want(&mut self, cmd: Cmd) {
        self.wants.push(cmd);
    }

    pub(crate) fn ask(&mut self, ask: Ask) {
        self.want(Cmd::Ask(ask));
    }

    /// Whether the cursor only passes what is under it. Then nothing is asked now: the screen hears when it
    /// stands still.
    pub(crate) fn is_passing(&mut self) -> bool {
        let passing = self.world.moving_until.is_some_and(|until| self.world.now < until);
        if passing {
            self.want(Cmd::WhenRested);
        }
        passing
    }

    pub(crate) fn tell(&mut self, text: impl Into<String>) {
        self.want(Cmd::Tell(Tone::Plain, text.into()));
    }

    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.want(Cmd::Tell(Tone::Error, text.into()));
    }

    pub(crate) fn open(&mut self, layer: Layer) {
        self.want(Cmd::Open(Box::new(layer)));
    }
}
