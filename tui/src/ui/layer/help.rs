//! The keys, generated from their table, with a search.

use ratatui::{buffer::Buffer, layout::Rect};

use super::Step;
use crate::ui::{
    key::Key,
    keymap::{Keymap, Scope},
    line::Line,
    view::{NARROW, Role, boxed, text},
};

/// Headings, in their order.
const HERE: &str = "Here";
const EVERYWHERE: &str = "Everywhere";
const COMMAND: &str = "Commands without a key";

/// Help for one place.
#[derive(Clone, Debug)]
pub(crate) struct Help {
    title: String,
    /// Keys or words, what they do, and below which heading.
    rows: Vec<(String, &'static str, &'static str)>,
    search: Line,
    top: usize,
}

impl Help {
    pub(crate) fn new(title: &str, scopes: &[Scope], keymap: Keymap) -> Self {
        let rows = keymap.of(scopes).filter(|binding| !binding.keys.is_empty()).map(|binding| {
            let keys: Vec<String> = binding.keys.iter().map(|key| key.name()).collect();
            let general = matches!(binding.scope, Scope::Everywhere | Scope::List | Scope::Moves);
            (keys.join(" "), binding.title, if general { EVERYWHERE } else { HERE })
        });
        let words = keymap.only_words().map(|(words, what)| (format!(": {words}"), what, COMMAND));
        Self { title: format!("Help: {title}"), rows: rows.chain(words).collect(), search: Line::default(), top: 0 }
    }

    pub(super) fn key(&mut self, key: Key) -> Step {
        match key {
            Key::Esc | Key::F(1) => return Step::Close,
            Key::Char('q' | '?') if self.search.text().is_empty() => return Step::Close,
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

    fn lines(&self) -> Vec<(Role, String, &'static str)> {
        let wanted = self.search.text().to_lowercase();
        let found = |row: &&(String, &'static str, &'static str)| {
            row.0.to_lowercase().contains(&wanted) || row.1.to_lowercase().contains(&wanted)
        };
        let mut lines = Vec::new();
        for heading in [HERE, EVERYWHERE, COMMAND] {
            let rows: Vec<_> = self.rows.iter().filter(|row| row.2 == heading).filter(found).collect();
            if !rows.is_empty() {
                lines.push((Role::Title, heading.to_owned(), ""));
                lines.extend(rows.into_iter().map(|row| (Role::Key, row.0.clone(), row.1)));
            }
        }
        lines
    }

    pub(super) fn draw(&self, body: Rect, buf: &mut Buffer) {
        let title = if self.search.text().is_empty() {
            format!("{}   (type to search, Esc closes)", self.title)
        } else {
            format!("{}   search: {}", self.title, self.search.text())
        };
        let inner = boxed(buf, body, 66, body.height, &title);
        // Where titles would be cut off, they begin where the keys end.
        let column = if inner.width < NARROW { 8 } else { 23 };
        let lines = self.lines();
        let top = self.top.min(lines.len().saturating_sub(usize::from(inner.height)));
        for ((role, keys, what), y) in lines.iter().skip(top).zip(inner.y..inner.bottom()) {
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
            text(buf, inner, "nothing matches", Role::Muted);
        }
    }
}
