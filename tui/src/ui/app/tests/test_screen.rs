//! A driver for the model: sends keys and responses, advances the time, draws frames, and opens screens.

use jiff::Timestamp;
use ratatui::{
    buffer::{Buffer, Cell},
    layout::Rect,
    style::{Color, Modifier},
};

use super::prelude::*;
use crate::ui::{
    caps::{Appearance, Colors, Glyphs},
    net::{KeyRequest, ManagementRequest},
    view,
};

/// The model, the current time, and the effects that the test has not taken yet.
pub(super) struct TestScreen {
    pub(super) app: App,
    pub(super) now: Duration,
    pub(super) effects: Vec<Effect>,
    /// Sizes to which the terminal is changed, and back, before each message.
    resizes: Option<Box<dyn Iterator<Item = Size>>>,
    /// Whether heartbeats get no response unless the test sends one. Otherwise each one is answered at once.
    pub(super) is_silent: bool,
}

pub(super) fn rich() -> Appearance {
    Appearance { colors: Colors::Palette, glyphs: Glyphs::Unicode, theme: Theme::default() }
}

fn wall(now: Duration) -> Timestamp {
    let start: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    start + now
}

/// The size and the capabilities of the terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct TestTerminal {
    pub(super) width: u16,
    pub(super) height: u16,
    pub(super) look: Appearance,
}

/// Returns a terminal with common capabilities.
pub(super) fn test_terminal(width: u16, height: u16) -> TestTerminal {
    TestTerminal { width, height, look: rich() }
}

impl TestTerminal {
    pub(super) fn settings(self) -> Settings {
        Settings { look: self.look, ..Settings::default() }
    }

    /// Starts the program. No response has arrived yet.
    pub(super) fn start(self) -> TestScreen {
        TestScreen::with(self.settings(), self.width, self.height)
    }

    /// Starts the program and answers the requests for the status and the repositories.
    pub(super) fn loaded(self) -> TestScreen {
        self.start().with_rows()
    }

    /// Like [`TestTerminal::loaded`], with a terminal whose size changes before each message.
    pub(super) fn with_resizes(self) -> TestScreen {
        // Both numbers are coprime to the ranges, so that all sizes occur.
        let sizes = (1_u16..).map(|step| Size::new(step * 89 % 300 + 1, step * 53 % 120 + 1));
        TestScreen { resizes: Some(Box::new(sizes)), ..self.start() }.with_rows()
    }

    pub(super) fn read_only(self) -> TestScreen {
        TestScreen::with(Settings { read_only: true, ..self.settings() }, self.width, self.height).with_rows()
    }
}

impl TestScreen {
    pub(super) fn new(width: u16, height: u16) -> Self {
        test_terminal(width, height).start()
    }

    pub(super) fn with(settings: Settings, width: u16, height: u16) -> Self {
        let mut app = App::new(Size::new(width, height), settings, wall(Duration::ZERO));
        let effects = app.begin();
        Self { app, now: Duration::ZERO, effects, resizes: None, is_silent: false }
    }

    /// Starts the program and answers the requests for the status and the repositories.
    pub(super) fn loaded(width: u16, height: u16) -> Self {
        Self::new(width, height).with_rows()
    }

    fn with_rows(mut self) -> Self {
        self.answer(|request| matches!(request, Request::Status), Ok(status()));
        self.answer(|request| matches!(request, Request::Repositories), Ok(repositories(&NAMES)));
        self
    }

    pub(super) fn send(&mut self, msg: Msg) {
        if let Some(size) = self.resizes.as_mut().and_then(Iterator::next) {
            let usual = self.app.world.size;
            for size in [size, usual] {
                self.app.update(Msg::Resized(size), self.now, wall(self.now));
                self.picture();
            }
        }
        let effects = self.app.update(msg, self.now, wall(self.now));
        self.effects.extend(effects);
    }

    pub(super) fn advance(&mut self, time: Duration) {
        self.now += time;
        if !self.is_silent {
            self.app.last_response = self.now;
        }
        self.send(Msg::Tick);
    }

    /// Waits until the cursor counts as resting, so that the screen requests details.
    pub(super) fn rest_cursor(&mut self) {
        self.advance(Duration::from_millis(120));
    }

    pub(super) fn keys(&mut self, keys: &str) {
        for key in keys.chars() {
            self.press(match key {
                '\n' => Key::Enter,
                '\x1b' => Key::Esc,
                '\t' => Key::Tab,
                key => Key::Char(key),
            });
        }
    }

    pub(super) fn press(&mut self, key: Key) {
        self.send(Msg::Key(key));
    }

    /// Answers the newest request that was not taken yet and that `which` accepts.
    #[track_caller]
    pub(super) fn answer(&mut self, which: impl Fn(&Request) -> bool, result: Result<Answer, Problem>) {
        let found = self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Send(ticket, request) if which(request) => Some(*ticket),
            _ => None,
        });
        self.send(Msg::Answer(found.expect("such a request"), result));
    }

    /// Returns the requests since the last call, except those for panes beside a list and for suggestions in forms.
    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        let effects = std::mem::take(&mut self.effects);
        let requests =
            effects.into_iter().filter_map(|e| if let Effect::Send(_, request) = e { Some(request) } else { None });
        let is_aside = |request: &Request| {
            matches!(
                request,
                Request::LastDeliveries(_) | Request::RepositoryCounts(_) | Request::Tasks | Request::OwnOrganizations
            )
        };
        requests.filter(|request| !is_aside(request)).collect()
    }

    /// Answers a pending request, even if the test has taken it.
    #[track_caller]
    pub(super) fn answer_last_of(&mut self, which: impl Fn(&Request) -> bool, result: Result<Answer, Problem>) {
        let waiting = self.app.pending.iter().filter(|(_, one)| which(&one.request)).map(|(ticket, _)| *ticket).max();
        self.send(Msg::Answer(waiting.expect("such a request"), result));
    }

    /// Answers the last request.
    pub(super) fn answer_last(&mut self, result: Result<Answer, Problem>) {
        self.send(Msg::Answer(self.app.tickets, result));
    }

    pub(super) fn exit_code(&self) -> Option<u8> {
        self.effects.iter().find_map(|effect| if let Effect::Quit(code) = effect { Some(*code) } else { None })
    }

    pub(super) fn picture(&self) -> Buffer {
        let size = self.app.world.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, size.width, size.height));
        view::draw(&self.app, &mut buffer);
        buffer
    }

    /// Returns the text of the frame.
    pub(super) fn text(&self) -> String {
        rows(&self.picture(), |cell| cell.symbol().to_owned())
    }

    /// Returns one character per cell that describes its style, see [`sign`].
    pub(super) fn styles(&self) -> String {
        rows(&self.picture(), |cell| sign(cell).to_string())
    }
}

/// Returns the character for the style of a cell: `R` reversed, `U` underlined; `b` bold, `d` dim; 1 to 6 the
/// terminal's red, green, yellow, blue, magenta and cyan, A to F the same in bold; `.` no style, `?` an unexpected
/// color.
fn sign(cell: &Cell) -> char {
    let has = |modifier| cell.modifier.contains(modifier);
    let color = match cell.fg {
        Color::Reset => None,
        Color::Red => Some(0),
        Color::Green => Some(1),
        Color::Yellow => Some(2),
        Color::Blue => Some(3),
        Color::Magenta => Some(4),
        Color::Cyan => Some(5),
        _ => return '?',
    };
    match color {
        _ if has(Modifier::REVERSED) => 'R',
        _ if has(Modifier::UNDERLINED) => 'U',
        Some(color) => char::from(if has(Modifier::BOLD) { b'A' } else { b'1' } + color),
        None if has(Modifier::BOLD) => 'b',
        None if has(Modifier::DIM) => 'd',
        None => '.',
    }
}

fn rows(buffer: &Buffer, of: impl Fn(&Cell) -> String) -> String {
    let width = usize::from(buffer.area.width);
    let lines = buffer.content.chunks(width).map(|row| {
        let mut line = String::new();
        let mut skip = 0;
        for cell in row {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            skip = usize::from(view::width(cell.symbol())).saturating_sub(1);
            line.push_str(&of(cell));
        }
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Opens the hooks screen and answers its requests.
pub(super) fn open_hooks(screen: &mut TestScreen) {
    screen.keys("3");
    screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(hooks()));
    screen.answer(|request| *request == Request::HookEvents, Ok(hook_events()));
}

pub(super) fn open_users(screen: &mut TestScreen) {
    screen.keys("7");
    screen.answer(|request| *request == Request::Users, Ok(users()));
}

/// Returns whether a request lists the keys of a user.
pub(super) fn is_key_list(request: &Request) -> bool {
    matches!(request, Request::AccountKeys(_, KeyRequest::List))
}

/// Opens the keys of the first user, the caller, and answers the request for them.
pub(super) fn open_keys(screen: &mut TestScreen, result: Result<Answer, Problem>) {
    open_users(screen);
    screen.keys("\n]");
    screen.answer_last_of(is_key_list, result);
}

pub(super) fn open_artifacts(screen: &mut TestScreen) {
    screen.keys("5");
    screen.answer(|request| matches!(request, Request::Runs(_)), Ok(tree()));
}

/// Returns whether a request is about this list of a repository that its administrators manage.
pub(super) fn is_managed(request: &Request, list: &ManagementRequest) -> bool {
    matches!(request, Request::Manage(_, one) if one == list)
}

/// Shows such a list. Its request is not answered.
pub(super) fn show_managed(screen: &mut TestScreen, list: &ManagementRequest) {
    let tabs = match list {
        ManagementRequest::Releases => 5,
        ManagementRequest::Rules => 6,
        ManagementRequest::Collaborators => 7,
        ManagementRequest::DeployKeys => 8,
        ManagementRequest::Mirrors => 9,
        other => panic!("{other:?} is not a list"),
    };
    screen.keys("jj\n");
    screen.keys(&"]".repeat(tabs));
}

/// Shows such a list and answers its request.
pub(super) fn open_managed(screen: &mut TestScreen, list: &ManagementRequest, result: Result<Answer, Problem>) {
    show_managed(screen, list);
    screen.answer(|request| is_managed(request, list), result);
}

/// Opens the list of deleted repositories.
pub(super) fn open_deleted_repositories(width: u16, height: u16) -> TestScreen {
    let mut screen = TestScreen::loaded(width, height);
    screen.keys("u");
    screen.answer(|request| *request == Request::DeletedRepositories, Ok(deleted_repositories()));
    screen.take_requests();
    screen
}

/// Opens the list of deleted artifacts.
pub(super) fn open_deleted_artifacts(width: u16, height: u16) -> TestScreen {
    let mut screen = TestScreen::loaded(width, height);
    open_artifacts(&mut screen);
    screen.keys("u");
    screen.answer(|request| *request == Request::DeletedArtifacts, Ok(deleted_artifacts()));
    screen.take_requests();
    screen
}

/// Opens the list of cache entries.
pub(super) fn open_caches(width: u16, height: u16) -> TestScreen {
    let mut screen = TestScreen::loaded(width, height);
    show_caches(&mut screen);
    screen.take_requests();
    screen
}

pub(super) fn show_caches(screen: &mut TestScreen) {
    open_artifacts(screen);
    screen.keys("c");
    screen.answer(|request| *request == Request::Caches, Ok(caches()));
    screen.answer_last_of(|request| *request == Request::CacheUsage, Ok(cache_usage()));
}

pub(super) fn open_deliveries(screen: &mut TestScreen) {
    screen.keys("4");
    screen.answer(|request| matches!(request, Request::Deliveries { .. }), Ok(deliveries()));
}

/// Opens the groups of deliveries by hook, and answers the request for the results of the first hook.
pub(super) fn open_delivery_groups(screen: &mut TestScreen) {
    open_deliveries(screen);
    screen.keys("o");
    screen.answer(|request| matches!(request, Request::DeliveryGroups(_)), Ok(groups_by_hook()));
    screen.answer_last_of(|request| matches!(request, Request::DeliveryResults(..)), Ok(delivery_results()));
}

pub(super) fn open_delivery(screen: &mut TestScreen) {
    open_deliveries(screen);
    screen.keys("\n");
    screen.answer(|request| matches!(request, Request::Delivery(_)), Ok(detail(delivery(14, "pending", 0))));
    // The first frame determines the number of visible lines of the text.
    screen.text();
}
