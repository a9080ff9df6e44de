//! The model: screens, layers, requests on their way, what was said.
//!
//! [`App::update`] takes what happened and answers what is to be done; it reads no clock, touches no
//! terminal and waits for nothing, so that a test is a list of messages.

mod away;
mod comfort;
mod keys;
mod link;
mod message;
mod notices;
mod places;
mod pulse;
mod typed;
mod typing;
mod waiting;
mod wants;

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;
use ratatui::layout::Size;

use self::waiting::Pending;
pub(crate) use self::{
    comfort::Mouse,
    message::{Effect, Msg},
};
use super::{
    layer::Layer,
    net::{Ask, Ticket},
    screens::{ScreenId, Screens},
    settings::Settings,
    theme::Theme,
    times::Clock,
    transfers::Transfers,
    world::{Cmd, Link, Tone, World},
};

/// How long a notice stays.
const NOTICE: Duration = Duration::from_secs(4);
const MESSAGES_MAX: usize = 200;
/// How long something can be taken back.
const UNDO: Duration = Duration::from_secs(30);

/// Everything.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, in any combination with the others")]
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) world: World,
    pub(crate) current: ScreenId,
    last: ScreenId,
    pub(crate) layers: Vec<Layer>,
    screens: Screens,
    pending: HashMap<Ticket, Pending>,
    tickets: Ticket,
    notice: Option<(Tone, String, Duration)>,
    messages: Vec<(Timestamp, String)>,
    commands: Vec<String>,
    /// Filters that were kept, the newest last.
    filters: Vec<String>,
    /// When the visible screen is asked for again.
    poll_at: Option<Duration>,
    /// When the daemon last answered.
    heard: Duration,
    /// Whether the screen said that no answer comes.
    was_silent: bool,
    /// Changes that were refused since the daemon went away.
    refused: usize,
    /// The address that was named in a warning about an unencrypted token.
    warned_of: Option<String>,
    /// Until when a second wish to quit needs no reason.
    sure_until: Duration,
    /// Whether the visible screen waits for the cursor to stand still.
    awaits_rest: bool,
    /// Whether nothing is asked soon, and the network was told.
    rests: bool,
    /// Whether it ends once nothing is fetched any more.
    quits_later: bool,
    /// What is to be asked once a file has been saved.
    afterwards: Vec<(Ask, Ask)>,
    /// What takes back the last switch, and since when.
    undo: Option<(Duration, Cmd)>,
    /// The screen to begin with.
    start: Option<ScreenId>,
    themes: Vec<(String, Theme)>,
    typing: typing::Typing,
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
                place: "the daemon".to_owned(),
                token: None,
                starter: None,
                status: None,
                read_only: settings.read_only,
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
                still: false,
                full_pane: false,
            },
            current: ScreenId::Dashboard,
            last: ScreenId::Repositories,
            layers: Vec::new(),
            screens: Screens::default(),
            pending: HashMap::new(),
            tickets: 0,
            notice: None,
            messages: Vec::new(),
            commands: Vec::new(),
            filters: Vec::new(),
            poll_at: None,
            heard: Duration::ZERO,
            was_silent: false,
            refused: 0,
            warned_of: None,
            sure_until: Duration::ZERO,
            awaits_rest: false,
            rests: false,
            quits_later: false,
            afterwards: Vec::new(),
            undo: None,
            start: settings.start,
            themes: settings.themes,
            typing: typing::Typing::default(),
            effects: Vec::new(),
        }
    }

    /// What is to be done at the very beginning.
    pub(crate) fn begin(&mut self) -> Vec<Effect> {
        self.go(self.first_screen());
        self.ask(Ask::Status);
        std::mem::take(&mut self.effects)
    }

    /// Takes what happened at a time. `wall` is the time of day, `now` only ever grows.
    pub(crate) fn update(&mut self, msg: Msg, now: Duration, wall: Timestamp) -> Vec<Effect> {
        (self.world.now, self.world.clock.now) = (now, wall);
        self.hold_rows();
        match msg {
            Msg::Key(key) => self.key(key),
            Msg::Paste(text) => self.paste(&text),
            Msg::Mouse(mouse) => self.mouse(mouse),
            Msg::Paged(shown) => {
                if let Err(why) = shown {
                    self.say(Tone::Error, why);
                }
                self.refresh();
            }
            Msg::Sync(known) => self.effects.push(Effect::Sync(known)),
            Msg::Slow(slow) => self.world.slow = slow,
            Msg::Warning(text) => self.say(Tone::Error, text),
            Msg::Resized(size) => {
                self.world.size = size;
                self.effects.push(Effect::Repaint);
            }
            Msg::Answer(ticket, result) => {
                self.typing.by_answer = true;
                self.answer(ticket, &result);
                self.suggest();
                self.typing.by_answer = false;
            }
            Msg::Place(place, token) => (self.world.place, self.world.token) = (place, token),
            Msg::ExposedToken(place) => self.warn_of_exposed_token(place),
            Msg::Signal(number) => self.effects.push(Effect::Quit(128 + number)),
            Msg::Continued => {
                self.effects.push(Effect::Repaint);
                self.refresh();
            }
            Msg::Tick => self.tick(),
        }
        self.rest();
        self.world.waits_since = self.waits_since();
        std::mem::take(&mut self.effects)
    }

    /// The name of the server.
    pub(crate) fn server(&self) -> &str {
        let address = self.world.status.as_ref().map_or("", |status| status.root_url.as_str());
        let host = address.split("://").last().unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
        if host.is_empty() { "farrier" } else { host }
    }

    /// Rows keep their places below whatever may be about them.
    fn hold_rows(&mut self) {
        self.world.still = self.layers.last().is_some_and(Layer::holds_still);
    }
}

#[cfg(test)]
mod tests;
