//! A person at a terminal, played: what is pressed, what time does, what is seen, and the ways to a screen.

use jiff::Timestamp;
use ratatui::{
    buffer::{Buffer, Cell},
    layout::Rect,
    style::{Color, Modifier},
};

use super::prelude::*;
use crate::ui::{
    caps::{Appearance, Colors, Glyphs},
    view,
};

/// An application with what it wanted so far.
pub(super) struct Story {
    pub(super) app: App,
    pub(super) now: Duration,
    pub(super) effects: Vec<Effect>,
    /// Sizes that the terminal has for a moment before each message.
    restless: Option<Box<dyn Iterator<Item = Size>>>,
    /// Whether the daemon answers only what a test answers. Otherwise each heartbeat is answered at once.
    pub(super) hangs: bool,
}

pub(super) fn rich() -> Appearance {
    Appearance { colors: Colors::Palette, glyphs: Glyphs::Unicode, theme: Theme::default() }
}

fn wall(now: Duration) -> Timestamp {
    let start: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    start + now
}

/// The terminal that a story plays on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    pub(super) width: u16,
    pub(super) height: u16,
    pub(super) look: Appearance,
}

/// A terminal with common capabilities.
pub(super) fn stage(width: u16, height: u16) -> Stage {
    Stage { width, height, look: rich() }
}

impl Stage {
    pub(super) fn settings(self) -> Settings {
        Settings { look: self.look, ..Settings::default() }
    }

    /// A program that has heard nothing yet.
    pub(super) fn started(self) -> Story {
        Story::with(self.settings(), self.width, self.height)
    }

    /// With rows and a status.
    pub(super) fn settled(self) -> Story {
        self.started().told_of_rows()
    }

    /// The same, on a terminal whose size does not stand still.
    pub(super) fn restless(self) -> Story {
        // Neither number has anything in common with those of the sizes.
        let sizes = (1_u16..).map(|step| Size::new(step * 89 % 300 + 1, step * 53 % 120 + 1));
        Story { restless: Some(Box::new(sizes)), ..self.started() }.told_of_rows()
    }

    pub(super) fn read_only(self) -> Story {
        Story::with(Settings { read_only: true, ..self.settings() }, self.width, self.height).told_of_rows()
    }
}

impl Story {
    pub(super) fn new(width: u16, height: u16) -> Self {
        stage(width, height).started()
    }

    pub(super) fn with(settings: Settings, width: u16, height: u16) -> Self {
        let mut app = App::new(Size::new(width, height), settings, wall(Duration::ZERO));
        let effects = app.begin();
        Self { app, now: Duration::ZERO, effects, restless: None, hangs: false }
    }

    /// With rows and a status.
    pub(super) fn settled(width: u16, height: u16) -> Self {
        Self::new(width, height).told_of_rows()
    }

    fn told_of_rows(mut self) -> Self {
        self.answer(|ask| matches!(ask, Ask::Status), Ok(status()));
        self.answer(|ask| matches!(ask, Ask::Repositories), Ok(repositories(&NAMES)));
        self
    }

    pub(super) fn tell(&mut self, msg: Msg) {
        if let Some(size) = self.restless.as_mut().and_then(Iterator::next) {
            let usual = self.app.world.size;
            for size in [size, usual] {
                self.app.update(Msg::Resized(size), self.now, wall(self.now));
                self.picture();
            }
        }
        let effects = self.app.update(msg, self.now, wall(self.now));
        self.effects.extend(effects);
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
        if !self.hangs {
            self.app.heard = self.now;
        }
        self.tell(Msg::Tick);
    }

    /// The cursor stands still for long enough.
    pub(super) fn rest(&mut self) {
        self.pass(Duration::from_millis(120));
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
        self.tell(Msg::Key(key));
    }

    /// Answers the newest question that `which` means.
    #[track_caller]
    pub(super) fn answer(&mut self, which: impl Fn(&Ask) -> bool, result: Result<Answer, Problem>) {
        let found = self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Ask(ticket, ask) if which(ask) => Some(*ticket),
            _ => None,
        });
        self.tell(Msg::Answer(found.expect("it was asked"), result));
    }

    /// What was asked since the last call, except for what is shown beside a list or offered in a form.
    pub(super) fn asked(&mut self) -> Vec<Ask> {
        let effects = std::mem::take(&mut self.effects);
        let asked = effects.into_iter().filter_map(|e| if let Effect::Ask(_, ask) = e { Some(ask) } else { None });
        let is_aside = |ask: &Ask| {
            matches!(ask, Ask::LastDeliveries(_) | Ask::RepositoryCounts(_) | Ask::Tasks | Ask::OwnOrganizations)
        };
        asked.filter(|ask| !is_aside(ask)).collect()
    }

    /// Answers a question that waits, whether or not it was looked at.
    #[track_caller]
    pub(super) fn answer_last_of(&mut self, which: impl Fn(&Ask) -> bool, result: Result<Answer, Problem>) {
        let waiting = self.app.pending.iter().filter(|(_, one)| which(&one.ask)).map(|(ticket, _)| *ticket).max();
        self.tell(Msg::Answer(waiting.expect("it was asked"), result));
    }

    /// Answers what was asked last.
    pub(super) fn answer_last(&mut self, result: Result<Answer, Problem>) {
        self.tell(Msg::Answer(self.app.tickets, result));
    }

    pub(super) fn quits(&self) -> Option<u8> {
        self.effects.iter().find_map(|effect| if let Effect::Quit(code) = effect { Some(*code) } else { None })
    }

    pub(super) fn picture(&self) -> Buffer {
        let size = self.app.world.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, size.width, size.height));
        view::draw(&self.app, &mut buffer);
        buffer
    }

    /// The picture's text.
    pub(super) fn text(&self) -> String {
        rows(&self.picture(), |cell| cell.symbol().to_owned())
    }

    /// The picture's look: a sign a cell, see [`sign`].
    pub(super) fn styles(&self) -> String {
        rows(&self.picture(), |cell| sign(cell).to_string())
    }
}

/// What a cell looks like: `R` reversed, `U` underlined; `b` bold, `d` dim; 1 to 6 the terminal's red, green,
/// yellow, blue, magenta and cyan, A to F the same in bold; `.` as everything else, `?` as nothing should.
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

/// Goes to the hooks, and they come.
pub(super) fn on_hooks(story: &mut Story) {
    story.keys("3");
    story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(hooks()));
    story.answer(|ask| *ask == Ask::HookEvents, Ok(hook_events()));
}

pub(super) fn on_artifacts(story: &mut Story) {
    story.keys("5");
    story.answer(|ask| matches!(ask, Ask::Runs(_)), Ok(tree()));
}

/// On the list of deleted repositories.
pub(super) fn on_deleted_repositories(width: u16, height: u16) -> Story {
    let mut story = Story::settled(width, height);
    story.keys("u");
    story.answer(|ask| *ask == Ask::DeletedRepositories, Ok(deleted_repositories()));
    story.asked();
    story
}

/// On the list of deleted artifacts.
pub(super) fn on_deleted_artifacts(width: u16, height: u16) -> Story {
    let mut story = Story::settled(width, height);
    on_artifacts(&mut story);
    story.keys("u");
    story.answer(|ask| *ask == Ask::DeletedArtifacts, Ok(deleted_artifacts()));
    story.asked();
    story
}

pub(super) fn on_deliveries(story: &mut Story) {
    story.keys("4");
    story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(deliveries()));
}

pub(super) fn reading(story: &mut Story) {
    on_deliveries(story);
    story.keys("\n");
    story.answer(|ask| matches!(ask, Ask::Delivery(_)), Ok(detail(delivery(14, "pending", 0))));
    // The first picture tells the text how much room it has.
    story.text();
}
