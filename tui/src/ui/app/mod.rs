//! The model: screens, layers, requests on their way, what was said.
//!
//! [`App::update`] takes what happened and answers what is to be done; it reads no clock, touches no
//! terminal and waits for nothing, so that a test is a list of messages.

mod away;
mod comfort;
mod keys;
mod link;
mod notices;
mod pulse;

use std::{collections::HashMap, time::Duration};

use farrier_common::client::{HookPlace, RepositoryPath};
use jiff::Timestamp;
use ratatui::layout::Size;

pub(crate) use self::comfort::Mouse;
use super::{
    key::Key,
    keymap::Scope,
    layer::Layer,
    net::{Answer, Ask, Problem, Ticket, Turn},
    screens::{Artifacts, Dashboard, Deliveries, Hooks, Repositories, Screen, ScreenId},
    settings::Settings,
    theme::Theme,
    times::Clock,
    transfers::Transfers,
    world::{Cmd, Env, Link, Tone, World},
};

/// Something happened.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(Key),
    Paste(String),
    Mouse(Mouse),
    /// The pager was left, or could not be shown.
    Paged(Result<(), String>),
    /// Whether the terminal can be told where a frame begins and ends.
    Sync(bool),
    /// The line to the terminal has become slow, or fast again.
    Slow(bool),
    /// Something is wrong that was found before the first picture.
    Warning(String),
    Resized(Size),
    Answer(Ticket, Result<Answer, Problem>),
    /// Where the daemon is, and which token it is shown.
    Place(String, Option<String>),
    /// A signal that ends the program.
    Signal(u8),
    /// The program goes on after it was stopped.
    Continued,
    /// Time has passed.
    Tick,
}

/// Something is to be done.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Ask(Ticket, Ask),
    Cancel(Ticket),
    Turn(Turn),
    /// Nothing is asked soon.
    Rest,
    Copy(String),
    /// Give the terminal to the user's pager, with a text.
    Page(String),
    /// Let the terminal tell of the mouse, or not.
    Mouse(bool),
    Bell,
    /// Tell the terminal where frames begin and end, or not.
    Sync(bool),
    /// Find out anew what the terminal is.
    Redetect,
    Repaint,
    Suspend,
    Quit(u8),
}

/// How long a notice stays.
const NOTICE: Duration = Duration::from_secs(4);
const MESSAGES_MAX: usize = 200;
/// How long something can be taken back.
const UNDO: Duration = Duration::from_secs(30);

/// Everything.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) world: World,
    pub(crate) current: ScreenId,
    last: ScreenId,
    pub(crate) layers: Vec<Layer>,
    dashboard: Dashboard,
    repositories: Repositories,
    hooks: Hooks,
    deliveries: Deliveries,
    artifacts: Artifacts,
    pending: HashMap<Ticket, Ask>,
    tickets: Ticket,
    notice: Option<(Tone, String, Duration)>,
    messages: Vec<(Timestamp, String)>,
    commands: Vec<String>,
    /// Filters that were kept, the newest last.
    filters: Vec<String>,
    /// When the visible screen is asked for again.
    poll_at: Option<Duration>,
    /// When the daemon was last heard of.
    heard: Duration,
    /// Changes that were refused since the daemon went away.
    refused: usize,
    /// Until when a second wish to quit needs no reason.
    sure_until: Duration,
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
                still: false,
                full_pane: false,
            },
            current: ScreenId::Dashboard,
            last: ScreenId::Repositories,
            layers: Vec::new(),
            dashboard: Dashboard::default(),
            repositories: Repositories::default(),
            hooks: Hooks::default(),
            deliveries: Deliveries::default(),
            artifacts: Artifacts::default(),
            pending: HashMap::new(),
            tickets: 0,
            notice: None,
            messages: Vec::new(),
            commands: Vec::new(),
            filters: Vec::new(),
            poll_at: None,
            heard: Duration::ZERO,
            refused: 0,
            sure_until: Duration::ZERO,
            rests: false,
            quits_later: false,
            afterwards: Vec::new(),
            undo: None,
            start: settings.start,
            themes: settings.themes,
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
            Msg::Answer(ticket, result) => self.answer(ticket, &result),
            Msg::Place(place, token) => (self.world.place, self.world.token) = (place, token),
            Msg::Signal(number) => self.effects.push(Effect::Quit(128 + number)),
            Msg::Continued => {
                self.effects.push(Effect::Repaint);
                self.refresh();
            }
            Msg::Tick => self.tick(),
        }
        self.rest();
        std::mem::take(&mut self.effects)
    }

    pub(crate) fn screen(&self) -> &dyn Screen {
        match self.current {
            ScreenId::Dashboard => &self.dashboard,
            ScreenId::Repositories => &self.repositories,
            ScreenId::Hooks => &self.hooks,
            ScreenId::Deliveries => &self.deliveries,
            ScreenId::Artifacts => &self.artifacts,
        }
    }

    /// Lets the visible screen do something and carries out what it wants.
    fn with<T>(&mut self, act: impl FnOnce(&mut dyn Screen, &mut Env) -> T) -> T {
        let mut env = Env::new(&self.world);
        let screen: &mut dyn Screen = match self.current {
            ScreenId::Dashboard => &mut self.dashboard,
            ScreenId::Repositories => &mut self.repositories,
            ScreenId::Hooks => &mut self.hooks,
            ScreenId::Deliveries => &mut self.deliveries,
            ScreenId::Artifacts => &mut self.artifacts,
        };
        let acted = act(screen, &mut env);
        let wants = env.wants;
        self.carry_out(wants);
        acted
    }

    fn carry_out(&mut self, wants: Vec<Cmd>) {
        for cmd in wants {
            match cmd {
                Cmd::Ask(ask) => {
                    self.ask(ask);
                }
                Cmd::After(first, then) => {
                    self.say(Tone::Plain, format!("{} first", first.doing()));
                    self.ask(first.clone());
                    self.afterwards.push((first, then));
                }
                Cmd::Cancel(ask) => self.cancel(&ask),
                Cmd::Tell(tone, text) => self.say(tone, text),
                Cmd::Open(layer) => self.layers.push(*layer),
                Cmd::Artifacts(path, at) => self.show_artifacts(Some(path), at),
                Cmd::Repository(id) => {
                    self.repositories.show(id);
                    self.go(ScreenId::Repositories);
                }
                Cmd::Hooks(path, at) => self.show_hooks(path, at),
                Cmd::Deliveries(hook) => self.show_deliveries(|screen, env| screen.choose(hook, env)),
                Cmd::DeliveriesOf(event) => self.show_deliveries(|screen, env| screen.choose_event(event, env)),
                Cmd::Undo(cmd) => self.undo = Some((self.world.now, *cmd)),
                Cmd::Inspect(hook, id) => self.show_deliveries(|screen, env| screen.inspect(hook, id, env)),
                Cmd::Turn(turn) => self.turn(turn),
                Cmd::Quit { wait: true } => {
                    self.quits_later = true;
                    self.say(Tone::Plain, "it ends when everything is saved; Ctrl-C ends it now".to_owned());
                }
                Cmd::Quit { wait: false } => self.effects.push(Effect::Quit(0)),
                Cmd::Page(text) => self.effects.push(Effect::Page(text)),
                Cmd::Copy(text, what) => {
                    self.say(Tone::Plain, format!("{what} copied: {}", text.lines().next().unwrap_or_default()));
                    self.effects.push(Effect::Copy(text));
                }
            }
        }
    }

    fn ask(&mut self, ask: Ask) -> Ticket {
        if let Some(name) = ask.file() {
            self.world.transfers.begin(&ask, name, self.world.now);
        }
        self.tickets += 1;
        self.pending.insert(self.tickets, ask.clone());
        self.effects.push(Effect::Ask(self.tickets, ask));
        self.tickets
    }

    fn cancel(&mut self, ask: &Ask) {
        let tickets: Vec<Ticket> = self.pending.iter().filter(|(_, one)| *one == ask).map(|(at, _)| *at).collect();
        for ticket in tickets {
            self.pending.remove(&ticket);
            self.effects.push(Effect::Cancel(ticket));
        }
    }

    fn go(&mut self, id: ScreenId) {
        if id != self.current {
            (self.last, self.current) = (self.current, id);
        }
        self.with(|screen, env| screen.entered(env));
        self.poll_again();
    }

    /// Shows the artifacts of a repository, or of all, with the cursor on one of them.
    fn show_artifacts(&mut self, of: Option<RepositoryPath>, at: Option<i64>) {
        // Before it is entered: that asks for whatever is not asked for yet.
        let mut env = Env::new(&self.world);
        self.artifacts.choose(of, &mut env);
        if let Some(id) = at {
            self.artifacts.show_artifact(id);
        }
        let wants = env.wants;
        self.carry_out(wants);
        self.go(ScreenId::Artifacts);
    }

    fn show_hooks(&mut self, path: RepositoryPath, at: Option<i64>) {
        self.go(ScreenId::Hooks);
        let mut env = Env::new(&self.world);
        self.hooks.choose(HookPlace::Repository(path), &mut env);
        if let Some(id) = at {
            self.hooks.show(id);
        }
        let wants = env.wants;
        self.carry_out(wants);
    }

    fn show_deliveries(&mut self, show: impl FnOnce(&mut Deliveries, &mut Env)) {
        // Before it is entered: that asks for whatever is not asked for yet.
        let mut env = Env::new(&self.world);
        show(&mut self.deliveries, &mut env);
        let wants = env.wants;
        self.go(ScreenId::Deliveries);
        self.carry_out(wants);
    }

    /// Where keys are looked for, the particular first.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        let mut scopes = self.screen().scopes(&self.world);
        match &self.world.link {
            Link::Refused { .. } => scopes = vec![Scope::Refused, Scope::Everywhere],
            _ if self.world.is_nowhere() => scopes = vec![Scope::Nowhere, Scope::Everywhere],
            Link::Down { .. } => scopes.insert(0, Scope::Away),
            _ => {}
        }
        scopes
    }

    fn refresh(&mut self) {
        self.with(|screen, env| screen.refresh(env));
        self.poll_again();
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
