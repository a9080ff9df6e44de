//! The list behind every table: rows, order, filter, marks and the cursor.
//!
//! Owns which rows are shown and in which order, the cursor, the marks and the window. The cursor and the marks
//! are row IDs, not indexes, so that rows can be added, removed and moved.

mod columns;
mod draw;
pub(crate) mod feed;
pub(crate) mod filter;
mod marks;
mod pending_rows;
mod place;
mod row;
mod texts;
mod units;
mod view;
mod window;

use std::{
    cell::Cell,
    cmp::Ordering,
    collections::{HashMap, HashSet},
};

use ratatui::layout::{Position, Rect};

pub(crate) use self::{
    draw::{TableOptions, column_at, draw},
    feed::Feed,
    filter::{BadFilter, Filter, Haystack},
    pending_rows::PendingRows,
    row::{CellText, Column, Row},
    units::FilterColumn,
    view::ListView,
};
use self::{place::SoughtRow, texts::Texts};
use super::keymap::Action;

/// A list of rows with a cursor, marks, a filter and a sort order.
#[derive(Debug)]
pub(crate) struct List<T: Row> {
    rows: Vec<T>,
    /// Indexes of the shown rows, in display order.
    shown: Vec<usize>,
    cursor: Option<T::Id>,
    /// The row that the cursor moves to as soon as it is loaded.
    pending_cursor: Option<T::Id>,
    /// The row of a place to which the list returns.
    sought: Option<SoughtRow>,
    /// Index of the cursor among the shown rows.
    at: usize,
    marks: HashSet<T::Id>,
    /// The marks before the last change of several marks.
    marks_before: Option<HashSet<T::Id>>,
    /// The row where a range of marks starts.
    anchor: Option<T::Id>,
    filter: Filter,
    /// The texts of all rows while a filter is typed for a long list.
    texts: Option<Texts>,
    pub(crate) only_problems: bool,
    /// Sort column and whether it is reversed; `None` for the order of the daemon.
    sort: Option<(usize, bool)>,
    /// The first row in the window and the window's height, as they were last drawn.
    window: Cell<(usize, usize)>,
    /// The area in which rows were last drawn.
    area: Cell<Rect>,
    /// Number of rows that were added above the window and not seen yet.
    above: Cell<usize>,
    /// Whether rows changed and were not sorted and filtered again yet.
    unsettled: bool,
}

impl<T: Row> Default for List<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            shown: Vec::new(),
            cursor: None,
            pending_cursor: None,
            sought: None,
            at: 0,
            marks: HashSet::new(),
            marks_before: None,
            anchor: None,
            filter: Filter::default(),
            texts: None,
            only_problems: false,
            sort: None,
            window: Cell::new((0, 1)),
            area: Cell::new(Rect::ZERO),
            above: Cell::new(0),
            unsettled: false,
        }
    }
}

impl<T: Row> List<T> {
    /// Returns an empty list that is sorted by a column.
    pub(crate) fn sorted(column: usize) -> Self {
        Self { sort: Some((column, false)), ..Self::default() }
    }

    pub(crate) fn rows(&self) -> &[T] {
        &self.rows
    }

    pub(crate) fn shown(&self) -> impl Iterator<Item = &T> {
        self.shown.iter().map(|at| &self.rows[*at])
    }

    pub(crate) fn shown_count(&self) -> usize {
        self.shown.len()
    }

    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(crate) fn current(&self) -> Option<&T> {
        self.shown.get(self.at).map(|at| &self.rows[*at])
    }

    /// Replaces all rows. Returns the row under the cursor if it is gone.
    pub(crate) fn replace(&mut self, rows: Vec<T>) -> Option<T> {
        self.exchange(rows, false).1
    }

    /// Replaces all rows and keeps the scroll position; with `hold` also the order. Returns the row under the
    /// cursor if it is gone.
    pub(crate) fn update(&mut self, rows: Vec<T>, hold: bool) -> Option<T> {
        let before = self.scroll_anchor();
        let (old, gone) = self.exchange(rows, hold);
        self.restore_scroll(&before, &old);
        gone
    }

    /// Updates existing rows and appends new ones. Keeps the scroll position; with `hold` also the order.
    pub(crate) fn renew(&mut self, rows: Vec<T>, hold: bool) {
        let mut newer: HashMap<T::Id, usize> = rows.iter().map(Row::id).zip(0..).collect();
        let mut rows: Vec<Option<T>> = rows.into_iter().map(Some).collect();
        let before = self.scroll_anchor();
        let mut changed = false;
        for row in &mut self.rows {
            let new = newer.remove(&row.id()).and_then(|at| rows[at].take());
            if let Some(new) = new.filter(|new| new != row) {
                *row = new;
                changed = true;
            }
        }
        let old = self.rows.len();
        // Append new rows in the order of the daemon.
        self.rows.extend(rows.into_iter().enumerate().filter_map(|(at, row)| {
            let row = row?;
            (newer.get(&row.id()) == Some(&at)).then_some(row)
        }));
        changed |= self.rows.len() > old;
        self.seek(old);
        if changed {
            self.texts = None;
        }
        if changed && hold {
            self.unsettled = true;
        } else if changed {
            self.arrange();
            self.restore_scroll(&before, &self.rows[..old]);
        }
    }

    /// Sorts and filters rows that were held.
    pub(crate) fn settle(&mut self) {
        if self.unsettled {
            let before = self.scroll_anchor();
            self.arrange();
            self.restore_scroll(&before, &self.rows);
        }
    }

    /// Replaces all rows. Returns the old ones, and the row under the cursor if it is gone.
    fn exchange(&mut self, rows: Vec<T>, hold: bool) -> (Vec<T>, Option<T>) {
        let before = self.current().cloned();
        let order: Vec<T::Id> = if hold { self.shown().map(Row::id).collect() } else { Vec::new() };
        let old = std::mem::replace(&mut self.rows, rows);
        self.texts = None;
        self.seek(0);
        // The map of a long list takes longer than a frame.
        if hold || !self.marks.is_empty() {
            let indexes: HashMap<T::Id, usize> = self.rows.iter().map(Row::id).zip(0..).collect();
            self.marks.retain(|id| indexes.contains_key(id));
            self.shown = order.iter().filter_map(|id| indexes.get(id).copied()).collect();
        }
        if hold {
            self.unsettled = true;
            self.find_cursor();
        } else {
            self.arrange();
        }
        let is_gone = |row: &T| {
            let id = row.id();
            self.cursor.as_ref() != Some(&id) && !self.rows.iter().any(|new| new.id() == id)
        };
        let gone = before.filter(is_gone);
        (old, gone)
    }

    /// Keeps the first `keep` rows and appends the rows of `more` that are not among them.
    pub(crate) fn extend_from(&mut self, keep: usize, more: Vec<T>) {
        self.rows.truncate(keep);
        self.texts = None;
        let known: HashSet<T::Id> = self.rows.iter().map(Row::id).collect();
        self.rows.extend(more.into_iter().filter(|row| !known.contains(&row.id())));
        self.seek(keep.min(self.rows.len()));
        let ids: HashSet<T::Id> = self.rows.iter().map(Row::id).collect();
        self.marks.retain(|id| ids.contains(id));
        self.arrange();
    }

    /// Appends rows.
    pub(crate) fn append(&mut self, rows: Vec<T>) {
        let from = self.rows.len();
        if let Some(texts) = &mut self.texts {
            texts.extend(&rows);
        }
        self.rows.extend(rows);
        self.seek(from);
        let mut new = self.matching(from..self.rows.len());
        new.sort_by(|a, b| self.order(*a, *b));
        // Pages mostly arrive in order; sorting all rows for each of two thousand pages would take seconds.
        let in_order = match (self.shown.last(), new.first()) {
            (Some(last), Some(first)) => self.order(*last, *first).is_le(),
            _ => true,
        };
        if !in_order || self.pending_cursor.is_some() {
            return self.arrange();
        }
        self.shown.append(&mut new);
        self.cursor = self.cursor.take().or_else(|| self.current().map(Row::id));
    }

    /// Compares two rows by the sort column.
    fn order(&self, a: usize, b: usize) -> Ordering {
        let Some((column, reversed)) = self.sort else { return Ordering::Equal };
        let Some(order) = T::COLUMNS.get(column).and_then(|column| column.order) else { return Ordering::Equal };
        let by = order(&self.rows[a], &self.rows[b]);
        if reversed { by.reverse() } else { by }
    }

    /// Moves the cursor to a row, now or when it is loaded.
    pub(crate) fn select(&mut self, id: T::Id) {
        self.pending_cursor = Some(id);
        self.arrange();
    }

    pub(crate) fn set_filter(&mut self, filter: Filter) {
        let is_narrower = filter.narrows(&self.filter);
        self.filter = filter;
        self.above.set(0);
        if !is_narrower {
            return self.arrange();
        }
        // A narrower filter only removes shown rows, which are sorted: there is no need to test all rows.
        let row = self.shown.get(self.at).copied();
        let shown = std::mem::take(&mut self.shown);
        self.shown = self.matching(shown);
        if self.pending_cursor.is_some() {
            return self.find_cursor();
        }
        // The rows are the same, so that the cursor is found without reading all of them.
        let found = row.and_then(|row| self.shown.iter().position(|at| *at == row));
        self.put_cursor(found);
    }

    pub(crate) fn set_sort(&mut self, column: usize) {
        self.sort = Some((column, false));
        self.arrange();
    }

    /// Sorts by the column with this title.
    pub(crate) fn sort_by(&mut self, title: &str, reversed: bool) {
        let column = T::COLUMNS.iter().position(|column| column.title == title && column.order.is_some());
        if let Some(column) = column {
            self.sort = Some((column, reversed));
            self.arrange();
        }
    }

    /// Moves the cursor to the row that is drawn at a cell. Returns whether there is a row.
    pub(crate) fn click(&mut self, x: u16, y: u16) -> bool {
        let area = self.area.get();
        if !area.contains(Position { x, y }) {
            return false;
        }
        let row = self.window.get().0 + usize::from(y - area.y);
        let hit = row < self.shown.len();
        if hit {
            self.go(row);
        }
        hit
    }

    /// Filters and sorts all rows.
    fn arrange(&mut self) {
        let mut shown = self.matching(0..self.rows.len());
        shown.sort_by(|a, b| self.order(*a, *b));
        self.shown = shown;
        self.unsettled = false;
        self.above.set(0);
        self.find_cursor();
    }

    /// Finds the row of the cursor, or its neighbor if it is gone.
    fn find_cursor(&mut self) {
        let index = |id: &T::Id| self.shown.iter().position(|at| self.rows[*at].id() == *id);
        let pending = self.pending_cursor.as_ref().and_then(index);
        if pending.is_some() {
            self.cursor = self.pending_cursor.take();
        }
        let found = pending.or_else(|| self.cursor.as_ref().and_then(index));
        self.put_cursor(found);
        if pending.is_some() {
            self.scroll_to_sought();
        }
    }

    /// Puts the cursor on a shown row, or on the neighbor of its row if that is not shown.
    fn put_cursor(&mut self, found: Option<usize>) {
        self.at = found.unwrap_or(self.at).min(self.shown.len().saturating_sub(1));
        if found.is_none() {
            self.cursor = self.current().map(Row::id);
        }
    }

    fn go(&mut self, to: usize) {
        (self.pending_cursor, self.sought) = (None, None);
        self.at = to.min(self.shown.len().saturating_sub(1));
        self.cursor = self.current().map(Row::id);
    }

    /// Runs an action of lists. Returns whether it was one.
    pub(crate) fn act(&mut self, action: Action) -> bool {
        let page = self.window.get().1.max(1);
        match action {
            Action::Down => self.go(self.at + 1),
            Action::Up => self.go(self.at.saturating_sub(1)),
            Action::First => self.go(0),
            Action::Last => self.go(usize::MAX),
            Action::PageDown => self.go(self.at.saturating_add(page)),
            Action::PageUp => self.go(self.at.saturating_sub(page)),
            Action::HalfDown => self.go(self.at.saturating_add(page.div_ceil(2))),
            Action::HalfUp => self.go(self.at.saturating_sub(page.div_ceil(2))),
            Action::Mark => self.mark(),
            Action::MarkRange => self.mark_range(),
            Action::MarkAll => self.mark_all(),
            Action::Problems => {
                self.only_problems = !self.only_problems;
                self.arrange();
            }
            Action::Undo => match self.marks_before.take() {
                Some(before) => self.marks_before = Some(std::mem::replace(&mut self.marks, before)),
                None => return false,
            },
            Action::Reverse => {
                self.sort = self.sort.or(Some((0, false))).map(|(column, reversed)| (column, !reversed));
                self.arrange();
            }
            _ => return false,
        }
        true
    }

    /// Clears the marks, else the filter, else the restriction to problems. Returns whether there was one.
    pub(crate) fn clear_one(&mut self) -> bool {
        if !self.marks.is_empty() {
            self.unmark();
        } else if !self.filter.text().is_empty() {
            self.set_filter(Filter::default());
        } else if self.only_problems {
            self.only_problems = false;
            self.arrange();
        } else {
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests;
