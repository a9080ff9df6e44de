//! A scrollable text, such as messages and error details.

use std::cell::Cell;

use ratatui::{buffer::Buffer, layout::Rect};

use super::Step;
use crate::ui::{
    key::Key,
    redacted::Redacted,
    view::{Role, boxed, lines, width, wrapped},
    world::Cmd,
};

/// Characters that a table moves to the side for each key.
const SIDE_STEP: usize = 16;
/// Width of the box, in cells, and the largest one for a text without longer lines. A table has the width of its lines.
const WIDTH_MIN: u16 = 76;
const WIDTH_MAX: u16 = 100;

/// A text in a box.
#[derive(Clone)]
pub(crate) struct TextView {
    title: String,
    text: String,
    top: usize,
    /// The largest first line, as of the last drawing, which wraps lines.
    top_max: Cell<usize>,
    /// The text that `y` copies, and its label.
    copy: Option<(String, &'static str)>,
    /// Whether only Esc closes it, because the text is shown once.
    closes_on_esc_only: bool,
    /// For a table, whose lines are not wrapped: the number of hidden characters at the left.
    left: Option<usize>,
}

/// Omits the text, which can be a secret that is shown once.
impl std::fmt::Debug for TextView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextView").field("title", &self.title).finish_non_exhaustive()
    }
}

impl TextView {
    pub(crate) fn new(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            text: text.into(),
            top: 0,
            top_max: Cell::new(0),
            copy: None,
            closes_on_esc_only: false,
            left: None,
        }
    }

    /// Returns a view of a text with columns, which scrolls to the side.
    pub(crate) fn table(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { left: Some(0), ..Self::new(title, text) }
    }

    /// Adds a text to copy, if there is one.
    pub(crate) fn with_copy(mut self, text: Option<String>, what: &'static str) -> Self {
        self.copy = text.map(|text| (text, what));
        self
    }

    /// Returns a view of a secret that is shown only once: only Esc closes it.
    pub(crate) fn once(title: impl Into<String>, text: impl Into<String>, copy: (String, &'static str)) -> Self {
        Self { copy: Some(copy), closes_on_esc_only: true, ..Self::new(title, text) }
    }

    pub(super) fn hints(&self) -> Vec<(String, String)> {
        let copy = self.copy.as_ref().map(|(_, what)| ("y".to_owned(), format!("copy the {what}")));
        let others = [("arrows", "scroll"), ("Esc", "close")].map(|(key, what)| (key.to_owned(), what.to_owned()));
        copy.into_iter().chain(others).collect()
    }

    pub(super) fn key(&mut self, key: Key) -> Step {
        match key {
            Key::Char('y') if let Some((text, what)) = &self.copy => {
                let (text, what) = (text.clone(), (*what).to_owned());
                return if self.closes_on_esc_only {
                    Step::Do(vec![Cmd::CopySecret(Redacted(text), what)])
                } else {
                    Step::Then(vec![Cmd::Copy(text, what)])
                };
            }
            Key::Down | Key::Char('j') => self.top += 1,
            Key::Up | Key::Char('k') => self.top = self.top.saturating_sub(1),
            Key::Right | Key::Char('l') if self.left.is_some() => {
                let longest = self.text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
                let most = longest.saturating_sub(SIDE_STEP);
                self.left = self.left.map(|left| (left + SIDE_STEP).min(most));
            }
            Key::Left | Key::Char('h') if self.left.is_some_and(|left| left > 0) => {
                self.left = self.left.map(|left| left.saturating_sub(SIDE_STEP));
            }
            Key::PageDown => self.top += 10,
            Key::PageUp => self.top = self.top.saturating_sub(10),
            Key::Esc => return Step::Close,
            _ if self.closes_on_esc_only => {}
            Key::Char(_) | Key::Enter | Key::Backspace | Key::Left => return Step::Close,
            _ => {}
        }
        self.top = self.top.min(self.top_max.get());
        Step::Stay
    }

    pub(super) fn draw(&self, body: Rect, buf: &mut Buffer) {
        let longest = self.text.lines().map(width).max().unwrap_or(0).saturating_add(4);
        let fits = self.left.is_some() || longest <= WIDTH_MAX;
        let wanted = if fits { longest.max(WIDTH_MIN) } else { WIDTH_MIN };
        let wide = wanted.min(body.width);
        let shown: Vec<String> = match self.left {
            Some(left) => self.text.lines().map(|line| line.chars().skip(left).collect()).collect(),
            None => wrapped(&self.text, wide.saturating_sub(4)),
        };
        let high = u16::try_from(shown.len()).unwrap_or(u16::MAX).saturating_add(2);
        let inner = boxed(buf, body, wide, high, &self.title);
        // A text that fits does not scroll.
        self.top_max.set(shown.len().saturating_sub(inner.height.into()));
        let top = self.top.min(self.top_max.get());
        lines(buf, inner, shown.into_iter().skip(top).map(|line| (Role::Text, line)));
    }
}
