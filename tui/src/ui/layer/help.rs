//! The help: keys of the current screen, all commands, and keys of other screens, with a search.
//!
//! The content comes from the key table. Every printable key is part of the search.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::Step;
use crate::ui::{
    key::Key,
    keymap::{Binding, Keymap, Scope, TYPED_COMMANDS},
    line::Line,
    screens::ScreenId,
    view::{NARROW, Role, boxed, text},
};

/// Headings in order; the names of other screens follow.
const HERE: &str = "Here";
const EVERYWHERE: &str = "Everywhere";
const COMMAND: &str = "Commands without a key";

/// One line of help.
#[derive(Clone, Debug)]
struct HelpRow {
    heading: &'static str,
    /// Keys, or the text of a command.
    keys: String,
    title: &'static str,
    /// The searched text in lower case.
    found_by: String,
}

impl HelpRow {
    fn new(heading: &'static str, keys: String, title: &'static str, words: &str, also: &str) -> Self {
        let found_by = format!("{keys} {title} {words} {also}").to_lowercase();
        Self { heading, keys, title, found_by }
    }

    fn of(heading: &'static str, binding: &Binding) -> Self {
        let keys: Vec<String> = binding.keys.iter().map(|key| key.name()).collect();
        Self::new(heading, keys.join(" "), binding.title, binding.words, binding.also)
    }
}

/// Help for one screen.
#[derive(Clone, Debug)]
pub(crate) struct Help {
    title: String,
    rows: Vec<HelpRow>,
    /// Screens whose keys are listed only as search results.
    elsewhere: Vec<&'static str>,
    search: Line,
    top: usize,
}

fn is_general(scope: Scope) -> bool {
    matches!(scope, Scope::Everywhere | Scope::List | Scope::Moves)
}

impl Help {
    pub(crate) fn new(title: &str, scopes: &[Scope], keymap: Keymap) -> Self {
        let with_key = |binding: &&Binding| !binding.keys.is_empty();
        let here = keymap.of(scopes).filter(with_key);
        let here = here.map(|one| HelpRow::of(if is_general(one.scope) { EVERYWHERE } else { HERE }, one));
        let without_key = keymap.all().iter().filter(|one| one.keys.is_empty() && !one.words.is_empty());
        let without_key = without_key.map(|one| {
            let argument = one.object.map_or_else(String::new, |object| format!(" {}", object.argument()));
            HelpRow::new(COMMAND, format!(":{}{argument}", one.words), one.title, "", one.also)
        });
        let typed = TYPED_COMMANDS
            .iter()
            .map(|one| HelpRow::new(COMMAND, format!(":{} {}", one.words, one.argument), one.title, "", one.also));
        let mut rows: Vec<HelpRow> = here.chain(without_key).chain(typed).collect();
        let mut elsewhere = Vec::new();
        for screen in ScreenId::ALL {
            let of_screen = |one: &&Binding| ScreenId::of(one.scope) == Some(*screen) && !scopes.contains(&one.scope);
            let before = rows.len();
            rows.extend(
                keymap.all().iter().filter(with_key).filter(of_screen).map(|one| HelpRow::of(screen.name(), one)),
            );
            if rows.len() > before {
                elsewhere.push(screen.name());
            }
        }
        Self { title: format!("Help: {title}"), rows, elsewhere, search: Line::default(), top: 0 }
    }

    /// Returns the search text.
    pub(crate) fn typed(&self) -> &str {
        self.search.text()
    }

    pub(super) fn key(&mut self, key: Key) -> Step {
        match key {
            Key::Esc | Key::F(1) => return Step::Close,
            Key::Backspace if self.search.text().is_empty() => return Step::Close,
            Key::Down => self.top += 1,
            Key::Up => self.top = self.top.saturating_sub(1),
            Key::PageDown => self.top += 10,
            Key::PageUp => self.top = self.top.saturating_sub(10),
            _ => {
                if self.search.key(key) {
                    self.top = 0;
                }
            }
        }
        self.top = self.top.min(self.lines().len().saturating_sub(1));
        Step::Stay
    }

    pub(super) fn paste(&mut self, pasted: &str) {
        self.search.paste(pasted);
        self.top = 0;
    }

    /// Returns headings and rows that match the search; other screens only with a search text.
    fn lines(&self) -> Vec<(Role, &str, &'static str)> {
        let query = self.search.text().to_lowercase();
        let found = |row: &HelpRow| query.split_whitespace().all(|word| row.found_by.contains(word));
        let others: &[&'static str] = if query.trim().is_empty() { &[] } else { &self.elsewhere };
        let mut lines = Vec::new();
        for heading in [HERE, EVERYWHERE, COMMAND].iter().chain(others) {
            let rows: Vec<&HelpRow> = self.rows.iter().filter(|row| row.heading == *heading && found(row)).collect();
            if !rows.is_empty() {
                lines.push((Role::Title, *heading, ""));
                lines.extend(rows.into_iter().map(|row| (Role::Key, row.keys.as_str(), row.title)));
            }
        }
        lines
    }

    pub(super) fn draw(&self, body: Rect, buf: &mut Buffer) -> Position {
        let inner = boxed(buf, body, 66, body.height, &self.title);
        let used = text(buf, inner, "Search: ", Role::Key);
        let field = Rect { x: inner.x + used.min(inner.width), width: inner.width.saturating_sub(used), ..inner };
        let (shown, cursor) = self.search.window(field.width.saturating_sub(1));
        text(buf, field, &shown, Role::Text);
        // On narrow terminals titles start right after the keys, so that they are not cut off.
        let column = if inner.width < NARROW { 8 } else { 23 };
        let lines = self.lines();
        let rows = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
        let top = self.top.min(lines.len().saturating_sub(usize::from(rows.height)));
        for ((role, keys, what), y) in lines.iter().skip(top).zip(rows.y..rows.bottom()) {
            let line = Rect { y, height: 1, ..inner };
            if what.is_empty() {
                text(buf, line, keys, *role);
                continue;
            }
            let at = |x: u16| Rect { x: line.x + x.min(line.width), width: line.width.saturating_sub(x), ..line };
            let used = text(buf, at(2), keys, *role);
            text(buf, at((used + 4).max(column)), what, Role::Text);
        }
        if lines.is_empty() {
            text(buf, rows, "Nothing found. Esc closes help.", Role::Muted);
        }
        Position { x: field.x + cursor, y: inner.y }
    }
}
