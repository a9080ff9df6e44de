//! The visible window of a list, and the text about it in the status line.
//!
//! When rows are added above the window, it keeps showing the same rows and counts the new ones.

use std::{collections::HashSet, fmt::Write as _, ops::Range};

use super::{CellText, List, Row};
use crate::ui::{words, world::World};

/// Terminal width from which on the count of new rows has a key hint.
const HINT_WIDTH: u16 = 110;

/// The scroll position of a list before its rows changed.
#[derive(Debug)]
pub(super) struct ScrollAnchor<T: Row> {
    /// The first row in the window.
    first: Option<T::Id>,
    /// The cursor's line in the window.
    line: usize,
    above: usize,
}

impl<T: Row> List<T> {
    /// Moves the window of `height` rows so that it holds the cursor. Returns the index of its first row.
    pub(super) fn windowed(&self, height: usize) -> usize {
        let (mut top, _) = self.window.get();
        let height = height.max(1);
        if self.at < top {
            top = self.at;
        } else if self.at >= top + height {
            top = self.at + 1 - height;
        }
        top = top.min(self.shown.len().saturating_sub(height));
        self.window.set((top, height));
        // Rows that were scrolled into the window are seen.
        self.above.set(self.above.get().min(top));
        top
    }

    /// Returns the parts of each cell of a row that the filter matches; nothing without a filter.
    pub(super) fn matches(&self, row: &T, columns: &[usize], cells: &[CellText]) -> Vec<Vec<Range<usize>>> {
        if self.filter.text().is_empty() {
            return Vec::new();
        }
        // Words without a column match in a text that consists of some cells.
        let text = format!(" {} ", row.text());
        let parts = |(column, cell): (&usize, &CellText)| {
            let is_in_text = text.contains(&format!(" {} ", cell.text));
            self.filter.match_ranges(&cell.text, T::COLUMNS[*column].title, is_in_text)
        };
        columns.iter().zip(cells).map(parts).collect()
    }

    /// Returns the number of shown rows below the cursor.
    pub(crate) fn below(&self) -> usize {
        self.shown.len().saturating_sub(self.at + 1)
    }

    /// Formats the number of new rows above the window.
    pub(crate) fn new_above(&self, world: &World) -> Option<String> {
        let above = self.above.get();
        let many = words::count(i64::try_from(above).unwrap_or(i64::MAX));
        let how = if world.size.width < HINT_WIDTH { "" } else { " above - g" };
        (above > 0).then(|| format!("^ {many} new{how}"))
    }

    /// Formats position, sort column, filter and marks, for example `8/1 204  sort name  filter x  marked 2`.
    pub(crate) fn status_text(&self, total: Option<i64>) -> String {
        let count = |n: usize| words::count(i64::try_from(n).unwrap_or(i64::MAX));
        let position = if self.shown.is_empty() { 0 } else { self.at + 1 };
        let mut text = format!("{}/{}", count(position), count(self.shown.len()));
        let rows = i64::try_from(self.rows.len()).unwrap_or(i64::MAX);
        if self.shown.len() != self.rows.len() {
            let _ = write!(text, " of {}", count(self.rows.len()));
        } else if let Some(total) = total.filter(|total| *total > rows) {
            let _ = write!(text, " of {}", words::count(total));
        }
        if let Some((column, _)) = self.sort {
            let _ = write!(text, "  sort {}", T::COLUMNS[column].title.to_lowercase());
        }
        if !self.filter.text().is_empty() {
            let _ = write!(text, "  filter {}", self.filter.text());
        }
        if self.only_problems {
            text.push_str("  only problems");
        }
        if !self.marks.is_empty() {
            let weight: i64 = self.rows.iter().filter(|row| self.marks.contains(&row.id())).map(Row::weight).sum();
            let _ = write!(text, "  marked {}", self.marks.len());
            if weight > 0 {
                let _ = write!(text, ", {}", crate::output::human_bytes(weight));
            }
            if self.hidden_marks() > 0 {
                let _ = write!(text, ", {} hidden", self.hidden_marks());
            }
        }
        text
    }

    /// Says that the filter and the order apply only to the loaded rows; empty without both. For lists that the daemon
    /// neither filters nor sorts and that have more rows.
    pub(crate) fn loaded_rows_note(&self) -> &'static str {
        let is_filtered = !self.filter.text().is_empty() || self.only_problems;
        match (is_filtered, self.sort.is_some()) {
            (true, true) => "  filter and sort: loaded rows only",
            (true, false) => "  filter: loaded rows only",
            (false, true) => "  sort: loaded rows only",
            (false, false) => "",
        }
    }

    /// Returns the scroll position.
    pub(super) fn scroll_anchor(&self) -> ScrollAnchor<T> {
        let (top, _) = self.window.get();
        let first = self.shown.get(top).map(|at| self.rows[*at].id());
        ScrollAnchor { first, line: self.at.saturating_sub(top), above: self.above.get() }
    }

    /// Scrolls to the same first row as before, or keeps the cursor on its line if it would be out of the window.
    /// `old` are the rows before the change.
    pub(super) fn restore_scroll(&self, before: &ScrollAnchor<T>, old: &[T]) {
        let (top, height) = self.window.get();
        let index = |id: &T::Id| self.shown.iter().position(|at| self.rows[*at].id() == *id);
        let mut now = before.first.as_ref().and_then(index).unwrap_or(top);
        if !(now..now + height).contains(&self.at) {
            now = self.at.saturating_sub(before.line);
        }
        let mut above = before.above;
        if now > top {
            let known: HashSet<T::Id> = old.iter().map(Row::id).collect();
            above += self.shown[..now].iter().filter(|at| !known.contains(&self.rows[**at].id())).count();
        }
        self.window.set((now, height));
        self.above.set(above.min(now));
    }
}
