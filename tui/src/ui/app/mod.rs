//! The model of the full screen: screens, layers, pending requests and messages.
//!
//! [`App::update`] takes a message and returns effects. It reads no clock, does not use the terminal and
//! does not block, so that a test is a list of messages.

mod command_history;
mod command_line;
mod commands;
mod downloads;
mod heartbeat;
mod history;
mod jump;
mod keys;
mod link;
mod message;
mod mouse;
mod navigation;
mod preferences;
mod requests;
mod session;
mod third_pane;
mod timers;
mod typing;

use std::{cell::Cell, collections::HashMap, time::Duration};

use jiff::Timestamp;
use ratatui::layout::{Rect, Size};

pub(crate) use self::{
    command_history::CommandHistory,
    message::{Effect, Msg},
    mouse::Mouse,
    requests::RequestOwner,
};
use self::{downloads::AfterDownload, requests::Pending};
use super::{
    layer::{Layer, LayerId, OpenLayer},
    net::{ExpectedRepository, Request, Ticket},
    screens::{ScreenId, Screens, ThirdPaneScroll},
    settings::Settings,
    theme::Theme,
    times::Clock,
    transfers::Transfers,
    world::{Cmd, DrawnTabs, Link, Tone, UNKNOWN_ADDRESS, World},
};
use crate::config::Context;

/// How long a notice is shown.
const NOTICE: Duration = Duration::from_secs(4);
const MESSAGES_MAX: usize = 200;
/// How long a switch can be undone.
const UNDO: Duration = Duration::from_secs(30);

/// The state of the program.
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent of each other")]
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) world: World,
    pub(crate) current: ScreenId,
    /// The layers above the screen; the last one is on top.
    pub(crate) layers: Vec<OpenLayer>,
    layer_ids: LayerId,
    history: history::History,
    screens: Screens,
    pending: HashMap<Ticket, Pending>,
    tickets: Ticket,
    notice: Option<(Tone, String, Duration)>,
    messages: Vec<(Timestamp, String)>,
    /// The commands of this run on this daemon, the newest last.
    commands: Vec<String>,
    /// The commands that are saved.
    command_history: CommandHistory,
    /// Filters that were applied, the newest last.
    filters: Vec<String>,
    /// When the visible screen is polled again.
    poll_at: Option<Duration>,
    /// The end of the time that a busy daemon asked the visible screen to wait.
    no_poll_before: Duration,
    /// When the last response arrived.
    last_response: Duration,
    /// Whether the screen showed that the daemon does not respond.
    was_silent: bool,
    /// Number of changes that were refused since the connection was lost.
    refused: usize,
    /// The address of the last warning about an unencrypted token.
    warned_of: Option<String>,
    /// Until when a second request to quit quits without a question.
    quit_confirmed_until: Duration,
    /// Whether the visible screen waits until the cursor stops moving.
    awaits_cursor_rest: bool,
    /// When the visible list is prepared for the filter whose input was opened.
    prepare_filter_at: Option<Duration>,
    /// Whether the network thread was asked to close idle connections.
    idle_connections_closed: bool,
    /// Whether the program quits when all downloads have ended.
    quits_later: bool,
    /// Requests that wait for a download.
    afterwards: Vec<AfterDownload>,
    /// The command that undoes the last switch, with its sender, and when the switch was made.
    undo: Option<(Duration, RequestOwner, Cmd)>,
    /// The first screen, if it is configured or remembered.
    start: Option<ScreenId>,
    /// The contexts of the configuration file.
    contexts: Vec<Context>,
    /// Whether changes are refused on every daemon.
    read_only: bool,
    /// Number of changes of the daemon or of the credentials.
    reconnections: u64,
    themes: Vec<(String, Theme)>,
    /// The theme that applies again when the command line no longer names another one.
    theme_before: Option<Theme>,
    typing: typing::Typing,
    pointer: mouse::Pointer,
    pub(crate) third: ThirdPaneScroll,
    /// The repositories of the layer whose key is being handled.
    expected: Vec<ExpectedRepository>,
    effects: Vec<Effect>,
}

impl App {
    pub(crate) fn new(size: Size, settings: Settings, wall: Timestamp) -> Self {
        Self {
            world: World {
                size,
                look: settings.look,
                clock: Clock::at(wall, settings.times),
                now: Duration::ZERO,
                link: Link::Connecting,
                address: UNKNOWN_ADDRESS.to_owned(),
                token: None,
                starter: None,
                status: None,
                read_only: settings.read_only || settings.context.as_ref().is_some_and(|one| one.server.read_only),
                context: settings.context,
                keymap: settings.keymap,
                columns: settings.columns,
                bulk_over: settings.bulk_over,
                wide: false,
                slow: settings.slow,
                mouse: settings.mouse,
                transfers: Transfers::default(),
                paused: false,
                waits_since: None,
                moving_until: None,
                rows_frozen: false,
                full_pane: false,
                third_has_focus: false,
                pane_share: None,
                divider: Cell::new(Rect::ZERO),
                tabs: DrawnTabs::default(),
            },
            current: ScreenId::Dashboard,
            layers: Vec::new(),
            layer_ids: 0,
            history: history::History::default(),
            screens: Screens::default(),
            pending: HashMap::new(),
            tickets: 0,
            notice: None,
            messages: Vec::new(),
            commands: Vec::new(),
            command_history: CommandHistory::default(),
            filters: Vec::new(),
            poll_at: None,
            no_poll_before: Duration::ZERO,
            last_response: Duration::ZERO,
            was_silent: false,
            refused: 0,
            warned_of: None,
            quit_confirmed_until: Duration::ZERO,
            awaits_cursor_rest: false,
            prepare_filter_at: None,
            idle_connections_closed: false,
            quits_later: false,
            afterwards: Vec::new(),
            undo: None,
            start: settings.start,
            contexts: settings.contexts,
            read_only: settings.read_only,
            reconnections: 0,
            themes: settings.themes,
            theme_before: None,
            typing: typing::Typing::default(),
            pointer: mouse::Pointer::default(),
            third: ThirdPaneScroll::default(),
            expected: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Opens the first screen and returns the first effects.
    pub(crate) fn begin(&mut self) -> Vec<Effect> {
        self.go(self.first_screen());
        self.forget_jump();
        self.send(RequestOwner::App, Request::Status);
        std::mem::take(&mut self.effects)
    }

    /// Handles a message. `wall` is the time of day; `now` is monotonic.
    pub(crate) fn update(&mut self, msg: Msg, now: Duration, wall: Timestamp) -> Vec<Effect> {
        (self.world.now, self.world.clock.now) = (now, wall);
        self.freeze_rows();
        let is_input = matches!(msg, Msg::Key(_) | Msg::Mouse(_));
        if is_input || matches!(msg, Msg::Answer(..)) {
            self.note_place();
        }
        if is_input {
            self.note_input();
        }
        match msg {
            Msg::Key(key) => self.key(key),
            Msg::Paste(text) => self.paste(&text),
            Msg::Mouse(mouse) => self.mouse(mouse),
            Msg::Paged(shown) => {
                if let Err(why) = shown {
                    self.notify(Tone::Error, why);
                }
                self.refresh();
            }
            Msg::Edited(layer, edited) => self.take_edited(layer, edited),
            Msg::Sync(known) => self.effects.push(Effect::Sync(known)),
            Msg::Slow(slow) => self.world.slow = slow,
            Msg::Warning(text) => self.notify(Tone::Error, text),
            Msg::Resized(size) => {
                self.world.size = size;
                self.world.third_has_focus &= self.world.three_panes();
                self.effects.push(Effect::Repaint);
            }
            Msg::Answer(ticket, result) => {
                self.typing.by_answer = true;
                self.answer(ticket, &result);
                self.suggest();
                self.typing.by_answer = false;
            }
            // The network thread may have connected to the previous daemon before it received the change.
            Msg::Endpoint(number, ..) | Msg::ExposedToken(number, _) if number != self.reconnections => {}
            Msg::Endpoint(_, address, token) => {
                (self.world.address, self.world.token) = (address, token);
                self.return_to_earlier();
            }
            Msg::ExposedToken(_, address) => self.warn_of_exposed_token(address),
            Msg::Signal(number) => self.effects.push(Effect::Quit(128 + number)),
            Msg::Continued => {
                self.effects.push(Effect::Repaint);
                self.refresh();
            }
            Msg::Tick => self.tick(),
        }
        self.keep_place(is_input);
        self.check_arrival();
        self.cancel_for_closed_layers();
        self.rest();
        self.world.waits_since = self.waits_since();
        std::mem::take(&mut self.effects)
    }

    /// Returns the name of the context, else the host name of the server, or `farrier` while it is unknown.
    pub(crate) fn server(&self) -> &str {
        if let Some(context) = &self.world.context {
            return &context.name;
        }
        let address = self.world.status.as_ref().map_or("", |status| status.root_url.as_str());
        let host = address.split("://").last().unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
        if host.is_empty() { "farrier" } else { host }
    }

    /// Shows a notice and adds it to the messages; an error rings the bell. An error stays until the next key: a notice
    /// that follows from it, such as that of a list that was requested again, would say something else.
    pub(super) fn notify(&mut self, tone: Tone, text: String) {
        self.messages.push((self.world.clock.now, text.clone()));
        let excess = self.messages.len().saturating_sub(MESSAGES_MAX);
        self.messages.drain(..excess);
        if tone == Tone::Error {
            self.effects.push(Effect::Bell);
        }
        let hides_error = tone != Tone::Error && matches!(self.notice, Some((Tone::Error, ..)));
        if !hides_error {
            self.notice = Some((tone, text, self.world.now));
        }
    }

    /// Warns once per address, because the program reconnects often.
    pub(super) fn warn_of_exposed_token(&mut self, address: String) {
        if self.warned_of.as_ref() != Some(&address) {
            self.notify(Tone::Error, format!("warning: token sent unencrypted to {address}; use https"));
            self.warned_of = Some(address);
        }
    }

    /// Returns the current notice.
    pub(crate) fn notice(&self) -> Option<(Tone, &str)> {
        self.notice.as_ref().map(|(tone, text, _)| (*tone, text.as_str()))
    }

    /// Returns the text at the right of the status line while no notice is shown.
    pub(crate) fn status_note(&self) -> Option<String> {
        match (self.refused, &self.world.link) {
            (1, Link::Down { .. }) => Some("1 change refused".to_owned()),
            (many @ 2.., Link::Down { .. }) => Some(format!("{many} changes refused")),
            _ => self.screen().status_note(&self.world),
        }
    }

    /// Returns the layer that gets keys.
    pub(crate) fn top_layer(&self) -> Option<&Layer> {
        self.layers.last().map(|open| &open.layer)
    }

    fn top_layer_mut(&mut self) -> Option<&mut Layer> {
        self.layers.last_mut().map(|open| &mut open.layer)
    }

    /// Keeps the order of rows while a layer that may be about them is open.
    fn freeze_rows(&mut self) {
        self.world.rows_frozen = self.top_layer().is_some_and(Layer::keeps_row_order);
    }
}

#[cfg(test)]
mod tests;
