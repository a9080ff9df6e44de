//! Draws the command line with its suggestions, and finds the suggestion below the mouse.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::{Entry, Palette};
use crate::ui::{
    layer::Step,
    view::{NARROW, Role, below, boxed, text, width, wrapped},
};

/// Limits of the width of the box, in cells.
const WIDTHS: (u16, u16) = (66, 110);
/// Cells of the screen that the box leaves free at both sides together.
const MARGIN: u16 = 8;
/// Rows of the box.
const HEIGHT: u16 = 16;
/// From this height on, the box has half of the rows.
const TALL: u16 = 36;

impl Palette {
    /// Chooses the suggestion at a cell. A click on the chosen one is Enter.
    pub(in crate::ui::layer) fn click(&mut self, at: Position) -> Step {
        let (area, top) = self.drawn.get();
        let row = top + usize::from(at.y.saturating_sub(area.y));
        if !area.contains(at) || row >= self.rows() {
            return Step::Stay;
        }
        if self.at == Some(row) {
            return self.enter();
        }
        self.at = Some(row);
        Step::Stay
    }

    /// Moves to the suggestion above. Unlike the key Up, the wheel does not go to earlier commands.
    pub(in crate::ui::layer) fn wheel_up(&mut self) -> Step {
        self.at = self.at.map(|at| at.saturating_sub(1));
        Step::Stay
    }

    pub(in crate::ui::layer) fn draw(&self, body: Rect, buf: &mut Buffer) -> Position {
        // The margin keeps the screen visible behind the box.
        let wide = body.width.saturating_sub(MARGIN).clamp(WIDTHS.0, WIDTHS.1);
        let high = if body.height >= TALL { body.height / 2 } else { HEIGHT };
        let inner = boxed(buf, body, wide, body.height.min(high), "Command");
        let row = |y: u16| Rect { y: inner.y + y.min(inner.height), height: 1, ..inner };
        let (shown, cursor) = self.line.window(inner.width.saturating_sub(3));
        text(buf, row(0), &format!(": {shown}"), Role::Key);
        let mut y = 1;
        for line in self.error.iter().flat_map(|error| wrapped(error, inner.width)).take(6) {
            text(buf, row(y), &line, Role::Warn);
            y += 1;
        }
        let rows = self.lines();
        let first = y.max(2);
        let room = usize::from(inner.height.saturating_sub(first));
        let top = self.at.unwrap_or(0).saturating_sub(room.saturating_sub(1));
        // One column for all descriptions, which get at least two fifths: longer commands push theirs to the right.
        self.drawn.set((below(inner, first), top));
        let longest = rows.iter().skip(top).take(room).map(|(name, _)| width(name) + 4).max().unwrap_or(0);
        let column = longest.min(inner.width * 3 / 5).max(if inner.width < NARROW { 14 } else { 25 });
        for ((at, (name, about)), y) in rows.iter().enumerate().skip(top).take(room).zip(first..inner.height) {
            let here = self.at == Some(at);
            let role = if here { Role::Selected } else { Role::Text };
            let line = row(y);
            if here {
                buf.set_style(line, role.style());
            }
            text(buf, line, if here { ">" } else { " " }, role);
            let at = |x: u16| Rect { x: line.x + x.min(line.width), width: line.width.saturating_sub(x), ..line };
            let used = text(buf, at(2), name, role);
            text(buf, at((used + 4).max(column)), about, if here { role } else { Role::Muted });
        }
        if rows.is_empty() && inner.height > first {
            text(buf, row(first), &self.hint(), Role::Muted);
        }
        Position { x: inner.x + 2 + cursor, y: inner.y }
    }

    /// Returns the suggestions: names for the current argument, or commands.
    fn lines(&self) -> Vec<(String, String)> {
        if self.suggests_words() {
            return self.offers.iter().map(|offer| (offer.value.clone(), offer.about.clone())).collect();
        }
        let selected = |entry: &Entry| {
            let selected = self.selected.as_ref().filter(|selected| entry.object == Some(selected.object));
            selected.filter(|_| entry.binding.is_some())
        };
        let line = |entry: Entry| match selected(&entry) {
            Some(selected) => (entry.words.to_owned(), format!("{}: {}", entry.title, selected.name)),
            None if entry.argument.is_empty() => (entry.words.to_owned(), entry.described()),
            None => (format!("{} {}", entry.words, entry.argument), entry.described()),
        };
        self.found().into_iter().map(line).chain(self.object_lines()).chain(self.key_lines()).collect()
    }

    fn hint(&self) -> String {
        match self.command() {
            Some((entry, _)) => format!("  {} {}   {}", entry.words, entry.argument, entry.title),
            None if self.line.text().contains(' ') => "  Enter runs the line".to_owned(),
            None => "  Enter shows the object with this name, number, UUID or commit".to_owned(),
        }
    }
}
