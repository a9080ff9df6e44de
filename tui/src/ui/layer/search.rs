//! The filter input in the status line. Every key applies the filter.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::Modifier,
};

use super::Step;
use crate::ui::{
    key::Key,
    line::Line,
    list::BadFilter,
    view::{Role, fit_left, text, width},
};

/// The filter input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    line: Line,
    /// Earlier filters, newest last.
    history: Vec<String>,
    /// How far back in the history the line is.
    back: usize,
    /// The syntax error; the list keeps the last valid filter.
    pub(crate) error: Option<BadFilter>,
}

impl Search {
    pub(crate) fn new(text: &str, history: Vec<String>) -> Self {
        Self { line: Line::new(text), history, back: 0, error: None }
    }

    pub(crate) fn typed(&self) -> &str {
        self.line.text()
    }

    /// Recalls the filter `back` entries ago; 0 is an empty line.
    fn recall(&mut self, back: usize) -> Step {
        let earlier = back.checked_sub(1).map(|at| self.history.iter().rev().nth(at).cloned());
        let text = match earlier {
            Some(None) => return Step::Stay,
            Some(Some(text)) => text,
            None => String::new(),
        };
        (self.line, self.back) = (Line::new(&text), back);
        Step::Filter(text)
    }

    pub(super) fn key(&mut self, key: Key) -> Step {
        match key {
            Key::Up => return self.recall(self.back + 1),
            Key::Down if self.back > 0 => return self.recall(self.back - 1),
            // An invalid filter is not applied, so it is not kept either.
            Key::Enter | Key::Down if self.error.is_some() => return Step::Stay,
            Key::Enter | Key::Down => return Step::Close,
            Key::Esc => {
                self.line = Line::default();
                return Step::Then(Vec::new());
            }
            Key::Backspace if self.line.text().is_empty() => return Step::Close,
            key => {
                if !self.line.key(key) {
                    return Step::Stay;
                }
            }
        }
        Step::Filter(self.line.text().to_owned())
    }

    pub(super) fn paste(&mut self, pasted: &str) -> Step {
        self.line.paste(pasted);
        Step::Filter(self.line.text().to_owned())
    }

    pub(super) fn draw(&self, area: Rect, buf: &mut Buffer) -> Position {
        let used = text(buf, area, " /", Role::Key);
        let rest = Rect { x: area.x + used, width: area.width - used, ..area };
        let (shown, cursor) = self.line.window(rest.width.saturating_sub(1));
        text(buf, rest, &shown, Role::Text);
        if let Some(error) = &self.error {
            // The visible part is the end of the text.
            let hidden = self.line.text().len().saturating_sub(shown.len());
            let word = error.at.start.saturating_sub(hidden)..error.at.end.saturating_sub(hidden);
            if let (Some(before), Some(word)) = (shown.get(..word.start), shown.get(word)) {
                let x = rest.x.saturating_add(width(before));
                let error_area = Rect { x, width: rest.right().saturating_sub(x).min(width(word)), ..rest };
                buf.set_style(error_area, Role::Error.style().add_modifier(Modifier::UNDERLINED));
            }
            let room = rest.width.saturating_sub(width(&shown) + 2);
            fit_left(buf, Rect { x: rest.right() - room, width: room, ..rest }, &error.text, Role::Error);
        }
        Position { x: rest.x + cursor, y: rest.y }
    }
}
