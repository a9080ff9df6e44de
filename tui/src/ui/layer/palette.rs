//! Commands by their words: the same as those of the shell.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::Step;
use crate::ui::{
    key::Key,
    keymap::{
        Action, Keymap,
        commands::{self, COMMANDS},
    },
    line::Line,
    screens::ScreenId,
    view::{NARROW, Role, boxed, text},
};

/// Commands being chosen from.
#[derive(Clone, Debug)]
pub(crate) struct Palette {
    line: Line,
    at: usize,
    history: Vec<String>,
    /// How far back in the history the line is.
    back: usize,
    keymap: Keymap,
}

#[derive(Clone, Debug)]
struct Entry {
    words: &'static str,
    title: &'static str,
    /// What it does, and on which screen; nothing while it wants something behind its words.
    does: Option<(Option<ScreenId>, Action)>,
}

fn entries(keymap: Keymap) -> impl Iterator<Item = Entry> {
    let whole = keymap.all().iter().filter(|binding| !binding.words.is_empty()).map(|binding| Entry {
        words: binding.words,
        title: binding.title,
        does: Some((ScreenId::of(binding.scope), binding.action)),
    });
    let more = COMMANDS.iter().map(|&(words, title)| Entry { words, title, does: None });
    whole.chain(more)
}

impl Palette {
    pub(crate) fn new(history: Vec<String>, keymap: Keymap) -> Self {
        Self { line: Line::default(), at: 0, history, back: 0, keymap }
    }

    pub(crate) fn typed(&self) -> &str {
        self.line.text()
    }

    /// The commands that have what was typed; first those that begin with it.
    fn found(&self) -> Vec<Entry> {
        let typed = self.line.text().to_lowercase();
        let has = |entry: &Entry| typed.split_whitespace().all(|word| entry.words.contains(word));
        let mut found: Vec<Entry> = entries(self.keymap).filter(has).collect();
        found.sort_by_key(|entry| !entry.words.starts_with(typed.trim()));
        found
    }

    pub(super) fn key(&mut self, key: Key) -> Step {
        match key {
            Key::Esc => return Step::Close,
            Key::Enter => {
                let typed = self.line.text().trim();
                if commands::is_whole(typed) {
                    return Step::Run(typed.to_owned());
                }
                match self.found().get(self.at) {
                    Some(Entry { does: Some((screen, action)), .. }) => return Step::Act(*screen, *action),
                    Some(entry) => self.complete(entry),
                    None => {}
                }
            }
            Key::Tab => {
                if let Some(entry) = self.found().get(self.at) {
                    self.complete(entry);
                }
            }
            Key::Down => self.at = (self.at + 1).min(self.found().len().saturating_sub(1)),
            Key::Up if self.at > 0 => self.at -= 1,
            Key::Up => {
                if let Some(earlier) = self.history.iter().rev().nth(self.back) {
                    self.line = Line::new(earlier);
                    self.back += 1;
                }
            }
            Key::Backspace if self.line.text().is_empty() => return Step::Close,
            key => {
                if self.line.key(key) {
                    self.at = 0;
                }
            }
        }
        Step::Stay
    }

    fn complete(&mut self, entry: &Entry) {
        let blank = if entry.does.is_none() { " " } else { "" };
        self.line = Line::new(&format!("{}{blank}", entry.words));
        self.at = 0;
    }

    pub(super) fn paste(&mut self, pasted: &str) {
        self.line.paste(pasted);
        self.at = 0;
    }

    pub(super) fn draw(&self, body: Rect, buf: &mut Buffer) -> Position {
        let found = self.found();
        let inner = boxed(buf, body, 66, body.height.min(16), "Command");
        let row = |y: u16| Rect { y: inner.y + y.min(inner.height), height: 1, ..inner };
        let (shown, cursor) = self.line.window(inner.width.saturating_sub(3));
        text(buf, row(0), &format!(": {shown}"), Role::Key);
        let room = usize::from(inner.height.saturating_sub(3));
        let top = self.at.saturating_sub(room.saturating_sub(1));
        for ((at, entry), y) in found.iter().enumerate().skip(top).take(room).zip(2..inner.height) {
            let here = at == self.at;
            let role = if here { Role::Selected } else { Role::Text };
            let line = row(y);
            if here {
                buf.set_style(line, role.style());
            }
            text(buf, line, if here { ">" } else { " " }, role);
            let at = |x: u16| Rect { x: line.x + x.min(line.width), width: line.width.saturating_sub(x), ..line };
            let used = text(buf, at(2), entry.words, role);
            let column = if inner.width < NARROW { 14 } else { 25 };
            text(buf, at((used + 4).max(column)), entry.title, if here { role } else { Role::Muted });
        }
        if found.is_empty() && inner.height > 2 {
            let typed = self.line.text().trim_end();
            match COMMANDS.iter().find(|(known, _)| known.starts_with(typed) || typed.starts_with(known)) {
                Some((known, what)) => text(buf, row(2), &format!("  {known:<22} {what}"), Role::Text),
                None => text(buf, row(2), "no such command; Esc closes", Role::Warn),
            };
        }
        Position { x: inner.x + 2 + cursor, y: inner.y }
    }
}
