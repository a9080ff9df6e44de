//! Scroll position and search of a text: a delivery, a file or a commit.
//!
//! The owner of the text formats its lines and passes them to every call, because they depend on the width.

use std::cell::Cell;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
};

use crate::ui::{
    keymap::Action,
    view::{self, Role, width},
    words,
};

/// Lines of a text and their roles.
pub(super) type Lines = Vec<(Role, String)>;

/// Narrowest width for which lines are formatted, in cells.
const WIDTH_MIN: u16 = 20;

/// Which part of a text is shown, and what is searched in it.
#[derive(Debug, Default)]
pub(super) struct TextScroll {
    top: usize,
    search: String,
    /// Index of the current match.
    found: usize,
    /// Width and height of the last drawing.
    room: Cell<(u16, u16)>,
}

impl TextScroll {
    /// Shows the beginning of the text.
    pub(super) fn restart(&mut self) {
        self.top = 0;
    }

    /// Returns the first line to show.
    pub(super) fn first_line(&self) -> usize {
        self.top
    }

    /// Shows the text from a line on, or its end if it is shorter.
    pub(super) fn scroll_to(&mut self, top: usize) {
        self.top = top;
    }

    /// Returns the width for which lines are formatted: that of the last drawing.
    pub(super) fn cells(&self) -> u16 {
        self.room.get().0.max(WIDTH_MIN)
    }

    /// Returns the index of the first line in the window.
    pub(super) fn top(&self, lines: &[(Role, String)]) -> usize {
        self.top.min(lines.len().saturating_sub(usize::from(self.room.get().1)))
    }

    pub(super) fn searched(&self) -> &str {
        &self.search
    }

    /// Removes the search. Returns whether there was one.
    pub(super) fn forget_search(&mut self) -> bool {
        !std::mem::take(&mut self.search).is_empty()
    }

    /// Searches from the first line in the window on.
    pub(super) fn search(&mut self, text: &str, lines: &[(Role, String)]) {
        text.clone_into(&mut self.search);
        self.found = self.matching_lines(lines).iter().position(|at| *at >= self.top).unwrap_or(0);
        self.go_to_found(lines);
    }

    /// Moves the window or goes to another match. Returns whether the action does that.
    pub(super) fn act(&mut self, action: Action, lines: &[(Role, String)]) -> bool {
        let page = usize::from(self.room.get().1.max(2)) - 1;
        match action {
            Action::Down => self.top += 1,
            Action::Up => self.top = self.top.saturating_sub(1),
            Action::PageDown => self.top += page,
            Action::PageUp => self.top = self.top.saturating_sub(page),
            Action::HalfDown => self.top += page.div_ceil(2),
            Action::HalfUp => self.top = self.top.saturating_sub(page.div_ceil(2)),
            Action::First => self.top = 0,
            Action::Last => self.top = usize::MAX / 2,
            Action::NextMatch | Action::PreviousMatch => self.next_match(action == Action::NextMatch, lines),
            _ => return false,
        }
        self.clamp(lines);
        true
    }

    /// Keeps the window inside the text after its lines changed.
    pub(super) fn clamp(&mut self, lines: &[(Role, String)]) {
        let rows = usize::from(self.room.get().1.max(1));
        self.top = self.top.min(lines.len().saturating_sub(rows));
    }

    fn next_match(&mut self, forward: bool, lines: &[(Role, String)]) {
        let many = self.matching_lines(lines).len();
        if many > 0 {
            self.found = (self.found + if forward { 1 } else { many - 1 }) % many;
            self.go_to_found(lines);
        }
    }

    fn go_to_found(&mut self, lines: &[(Role, String)]) {
        let rows = usize::from(self.room.get().1.max(1));
        if let Some(at) = self.matching_lines(lines).get(self.found)
            && !(self.top..self.top + rows).contains(at)
        {
            self.top = at.saturating_sub(rows / 2);
        }
    }

    /// Returns the indexes of the lines that match the search.
    fn matching_lines(&self, lines: &[(Role, String)]) -> Vec<usize> {
        if self.search.is_empty() {
            return Vec::new();
        }
        let search = self.search.to_lowercase();
        (0..lines.len()).filter(|at| lines[*at].1.to_lowercase().contains(&search)).collect()
    }

    /// Returns the position, for example `line 5/41   2 of 7 with error`.
    pub(super) fn status(&self, lines: &[(Role, String)]) -> String {
        let position = format!("line {}/{}", (self.top + 1).min(lines.len()), lines.len());
        if self.search.is_empty() {
            return position;
        }
        match self.matching_lines(lines).len() {
            0 => format!("{position}  no line has {}", self.search),
            many => format!("{position}  {} of {many} with {}", self.found.min(many - 1) + 1, self.search),
        }
    }

    /// Records the area in which the text is drawn next.
    pub(super) fn resize(&self, area: Rect) {
        self.room.set((area.width, area.height));
    }

    /// Draws the lines in the window, and highlights the matches.
    pub(super) fn draw(&self, lines: &[(Role, String)], area: Rect, buf: &mut Buffer) {
        self.resize(area);
        let top = self.top(lines);
        view::lines(buf, area, lines.iter().skip(top).take(usize::from(area.height)).cloned());
        for ((_, line), y) in lines.iter().skip(top).zip(area.y..area.bottom()) {
            self.underline(line, Rect { y, height: 1, ..area }, buf);
        }
    }

    /// Highlights the matches in a line.
    fn underline(&self, line: &str, area: Rect, buf: &mut Buffer) {
        if self.search.is_empty() {
            return;
        }
        let search = self.search.to_lowercase();
        let Some(lowercase) = words::lowercase_in_place(line) else { return };
        // Measuring the text before each match of a long hidden text would take quadratic time.
        let seen = view::fitting_bytes(line, area.width);
        for (at, found) in lowercase.match_indices(&search).take_while(|(at, _)| *at < seen) {
            let begin = width(&line[..at]);
            let matched = Rect { x: area.x.saturating_add(begin), width: width(found), ..area }.intersection(area);
            buf.set_style(matched, Style::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD));
        }
    }
}
