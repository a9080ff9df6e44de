//! The one list that every table is.
//!
//! Owns which rows are shown and in which order, the cursor, marks and the window. The cursor and
//! the marks are identities, not places: rows may come, go and move below them.

mod coming;
mod draw;
pub(crate) mod feed;
pub(crate) mod filter;
mod marks;
mod row;
mod standing;
mod units;
mod window;

use std::{
    cell::Cell,
    cmp::Ordering,
    collections::{HashMap, HashSet},
};

use ratatui::layout::{Position, Rect};

pub(crate) use self::{
    draw::{Place, draw},
    feed::Feed,
    filter::{BadFilter, Filter, Haystack},
    row::{Column, Row, Shown},
    units::Field,
};
use super::keymap::Action;

/// Rows with a cursor.
#[derive(Debug)]
pub(crate) struct List<T: Row> {
    rows: Vec<T>,
    /// Places of the shown rows, in order.
    shown: Vec<usize>,
    cursor: Option<T::Id>,
    /// Where the cursor is to go as soon as that row is there.
    wanted: Option<T::Id>,
    /// The cursor's place among the shown rows.
    at: usize,
    marks: HashSet<T::Id>,
    /// The marks before they were changed together.
    marks_before: Option<HashSet<T::Id>>,
    /// Where a range of marks begins.
    anchor: Option<T::Id>,
    filter: Filter,
    pub(crate) only_problems: bool,
    /// Column and whether it is reversed; none: as the rows came.
    sort: Option<(usize, bool)>,
    /// The first row in the window and the window's height, as they were last drawn.
    window: Cell<(usize, usize)>,
    /// Where rows were last drawn.
    place: Cell<Rect>,
    /// Rows that came above the window and were not looked at.
    above: Cell<usize>,
    /// Whether the order is not decided anew since rows changed.
    unsettled: bool,
}

impl<T: Row> Default for List<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            shown: Vec::new(),
            cursor: None,
            wanted: None,
            at: 0,
            marks: HashSet::new(),
            marks_before: None,
            anchor: None,
            filter: Filter::default(),
            only_problems: false,
            sort: None,
            window: Cell::new((0, 1)),
            place: Cell::new(Rect::ZERO),
            above: Cell::new(0),
            unsettled: false,
        }
    }
}

impl<T: Row> List<T> {
    /// A list that is sorted by a column.
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

    /// Other rows. Says what was under the cursor if that is gone.
    pub(crate) fn replace(&mut self, rows: Vec<T>) -> Option<T> {
        self.exchange(rows, false).1
    }

    /// The rows as they are now: what is to be seen stays where it is, and with `hold` nothing changes
    /// its place at all. Says what was under the cursor if that is gone.
    pub(crate) fn update(&mut self, rows: Vec<T>, hold: bool) -> Option<T> {
        let before = self.stand();
        let (old, gone) = self.exchange(rows, hold);
        self.stand_still(&before, &old);
        gone
    }

    /// Puts rows in the place of what they were before, and new ones behind all; what is to be seen stays
    /// where it is, and with `hold` nothing changes its place at all.
    pub(crate) fn renew(&mut self, rows: Vec<T>, hold: bool) {
        let mut newer: HashMap<T::Id, usize> = rows.iter().map(Row::id).zip(0..).collect();
        let mut rows: Vec<Option<T>> = rows.into_iter().map(Some).collect();
        let before = self.stand();
        let mut changed = false;
        for row in &mut self.rows {
            let new = newer.remove(&row.id()).and_then(|at| rows[at].take());
            if let Some(new) = new.filter(|new| new != row) {
                *row = new;
                changed = true;
            }
        }
        let old = self.rows.len();
        // In the order in which the daemon listed them.
        self.rows.extend(rows.into_iter().enumerate().filter_map(|(at, row)| {
            let row = row?;
            (newer.get(&row.id()) == Some(&at)).then_some(row)
        }));
        changed |= self.rows.len() > old;
        if changed && hold {
            self.unsettled = true;
        } else if changed {
            self.arrange();
            self.stand_still(&before, &self.rows[..old]);
        }
    }

    /// Decides about the order that was held.
    pub(crate) fn settle(&mut self) {
        if self.unsettled {
            let before = self.stand();
            self.arrange();
            self.stand_still(&before, &self.rows);
        }
    }

    /// Puts other rows in the place of all. Answers the old ones, and what was under the cursor and is
    /// gone.
    fn exchange(&mut self, rows: Vec<T>, hold: bool) -> (Vec<T>, Option<T>) {
        let before = self.current().cloned();
        let order: Vec<T::Id> = if hold { self.shown().map(Row::id).collect() } else { Vec::new() };
        let places: HashMap<T::Id, usize> = rows.iter().map(Row::id).zip(0..).collect();
        let old = std::mem::replace(&mut self.rows, rows);
        self.marks.retain(|id| places.contains_key(id));
        if hold {
            self.shown = order.iter().filter_map(|id| places.get(id).copied()).collect();
            self.unsettled = true;
            self.find_cursor();
        } else {
            self.arrange();
        }
        (old, before.filter(|row| !places.contains_key(&row.id())))
    }

    /// Keeps the first `keep` rows, and puts those of `more` behind them that are not there yet.
    pub(crate) fn extend_from(&mut self, keep: usize, more: Vec<T>) {
        self.rows.truncate(keep);
        let known: HashSet<T::Id> = self.rows.iter().map(Row::id).collect();
        self.rows.extend(more.into_iter().filter(|row| !known.contains(&row.id())));
        let ids: HashSet<T::Id> = self.rows.iter().map(Row::id).collect();
        self.marks.retain(|id| ids.contains(id));
        self.arrange();
    }

    /// More rows.
    pub(crate) fn append(&mut self, rows: Vec<T>) {
        let from = self.rows.len();
        self.rows.extend(rows);
        let mut new: Vec<usize> = (from..self.rows.len()).filter(|at| self.takes(&self.rows[*at])).collect();
        new.sort_by(|a, b| self.order(*a, *b));
        // Pages mostly come in order; to look at all rows for each of two thousand would take seconds.
        let behind = match (self.shown.last(), new.first()) {
            (Some(last), Some(first)) => self.order(*last, *first).is_le(),
            _ => true,
        };
        if !behind || self.wanted.is_some() {
            return self.arrange();
        }
        self.shown.append(&mut new);
        self.cursor = self.cursor.take().or_else(|| self.current().map(Row::id));
    }

    fn takes(&self, row: &T) -> bool {
        (!self.only_problems || row.is_problem()) && self.filter.takes(row)
    }

    /// How rows at two places are sorted.
    fn order(&self, a: usize, b: usize) -> Ordering {
        let Some((column, reversed)) = self.sort else { return Ordering::Equal };
        let Some(order) = T::columns().get(column).and_then(|column| column.order) else { return Ordering::Equal };
        let by = order(&self.rows[a], &self.rows[b]);
        if reversed { by.reverse() } else { by }
    }

    /// Puts the cursor on a row, now or when it comes.
    pub(crate) fn select(&mut self, id: T::Id) {
        self.wanted = Some(id);
        self.arrange();
    }

    pub(crate) fn set_filter(&mut self, filter: Filter) {
        let is_narrower = filter.narrows(&self.filter);
        self.filter = filter;
        self.above.set(0);
        if !is_narrower {
            return self.arrange();
        }
        // What was not shown will not be now, and the rest is sorted: a letter costs no look at all rows.
        let mut shown = std::mem::take(&mut self.shown);
        shown.retain(|at| self.takes(&self.rows[*at]));
        self.shown = shown;
        self.find_cursor();
    }

    pub(crate) fn set_sort(&mut self, column: usize) {
        self.sort = Some((column, false));
        self.arrange();
    }

    /// The column that rows are sorted by, and whether they are reversed.
    pub(crate) fn sorted_by(&self) -> Option<(&'static str, bool)> {
        self.sort.map(|(column, reversed)| (T::columns()[column].title, reversed))
    }

    /// Sorts by the column of this name.
    pub(crate) fn sort_by(&mut self, title: &str, reversed: bool) {
        let column = T::columns().iter().position(|column| column.title == title && column.order.is_some());
        if let Some(column) = column {
            self.sort = Some((column, reversed));
            self.arrange();
        }
    }

    /// Puts the cursor on the row that is drawn at a cell. Says whether there is one.
    pub(crate) fn click(&mut self, x: u16, y: u16) -> bool {
        let place = self.place.get();
        if !place.contains(Position { x, y }) {
            return false;
        }
        let row = self.window.get().0 + usize::from(y - place.y);
        let hit = row < self.shown.len();
        if hit {
            self.go(row);
        }
        hit
    }

    /// Decides anew which rows are shown where.
    fn arrange(&mut self) {
        let mut shown: Vec<usize> = (0..self.rows.len()).filter(|at| self.takes(&self.rows[*at])).collect();
        shown.sort_by(|a, b| self.order(*a, *b));
        self.shown = shown;
        self.unsettled = false;
        self.above.set(0);
        self.find_cursor();
    }

    /// Where the cursor's row is now, or its neighbour.
    fn find_cursor(&mut self) {
        let place = |id: &T::Id| self.shown.iter().position(|at| self.rows[*at].id() == *id);
        let wished = self.wanted.as_ref().and_then(place);
        if wished.is_some() {
            self.cursor = self.wanted.take();
        }
        let found = wished.or_else(|| self.cursor.as_ref().and_then(place));
        self.at = found.unwrap_or(self.at).min(self.shown.len().saturating_sub(1));
        if found.is_none() {
            self.cursor = self.current().map(Row::id);
        }
    }

    fn go(&mut self, to: usize) {
        self.wanted = None;
        self.at = to.min(self.shown.len().saturating_sub(1));
        self.cursor = self.current().map(Row::id);
    }

    /// Carries out what every list can do. Says whether it could.
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

    /// Takes away one thing that hides or marks rows: marks first, then the filter.
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
