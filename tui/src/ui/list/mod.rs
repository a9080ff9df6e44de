//! The one list that every table is.
//!
//! Owns which rows are shown and in which order, the cursor, marks and the window. The cursor and
//! the marks are identities, not places: rows may come, go and move below them.

mod coming;
mod draw;
pub(crate) mod feed;
pub(crate) mod filter;

use std::{
    cell::Cell,
    cmp::Ordering,
    collections::HashSet,
    fmt::{Debug, Write as _},
    hash::Hash,
};

use jiff::Timestamp;
use ratatui::layout::{Position, Rect};

pub(crate) use self::{
    draw::{Place, draw},
    feed::Feed,
    filter::{Filter, Haystack},
};
use super::{keymap::Action, view::Role};

/// What a cell shows.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) role: Role,
}

impl Shown {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), role: Role::Text }
    }

    pub(crate) fn of(role: Role, text: impl Into<String>) -> Self {
        Self { text: text.into(), role }
    }
}

/// A column of a table.
pub(crate) struct Column<T: 'static> {
    pub(crate) title: &'static str,
    /// Cells that it needs at least; the first column takes what is left.
    pub(crate) width: u16,
    pub(crate) right: bool,
    /// Columns with the highest number go first when there is no room.
    pub(crate) rank: u8,
    pub(crate) cell: fn(&T, Timestamp) -> Shown,
    pub(crate) order: Option<fn(&T, &T) -> Ordering>,
}

impl<T> Debug for Column<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.title)
    }
}

/// A row of a table.
pub(crate) trait Row: Haystack + Clone + PartialEq + Debug + Sized + 'static {
    type Id: Clone + Eq + Hash + Debug;

    fn id(&self) -> Self::Id;
    fn columns() -> &'static [Column<Self>];
    /// Names that filters may use.
    fn filters() -> &'static [&'static str];
    fn is_problem(&self) -> bool;
    /// Bytes that it stands for, which marks add up.
    fn weight(&self) -> i64 {
        0
    }
    /// The column that takes the cells that are left.
    fn flexible() -> usize {
        0
    }
    /// Cells by which the first column is moved to the right.
    fn indent(&self) -> u16 {
        0
    }
}

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

    /// The marked rows, or the one under the cursor.
    pub(crate) fn targets(&self) -> Vec<&T> {
        if self.marks.is_empty() {
            return self.current().into_iter().collect();
        }
        self.rows.iter().filter(|row| self.marks.contains(&row.id())).collect()
    }

    /// The one row that an action is about: the marked one, or the one under the cursor.
    pub(crate) fn target(&self) -> Result<Option<&T>, String> {
        match self.targets().as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            many => Err(format!("one at a time, and {} are marked; Esc clears marks", many.len())),
        }
    }

    /// Other rows. Says what was under the cursor if that is gone.
    pub(crate) fn replace(&mut self, rows: Vec<T>) -> Option<T> {
        let before = self.current().cloned();
        let ids: HashSet<T::Id> = rows.iter().map(Row::id).collect();
        self.rows = rows;
        self.marks.retain(|id| ids.contains(id));
        self.arrange();
        before.filter(|row| !ids.contains(&row.id()))
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

    pub(crate) fn unmark(&mut self) {
        self.marks_before = Some(self.marks.clone());
        self.marks.clear();
        self.anchor = None;
    }

    /// Marks exactly these.
    pub(crate) fn mark_only(&mut self, ids: impl IntoIterator<Item = T::Id>) {
        self.marks = ids.into_iter().collect();
    }

    pub(crate) fn set_filter(&mut self, filter: Filter) {
        let is_narrower = filter.narrows(&self.filter);
        self.filter = filter;
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

    fn mark(&mut self) {
        let Some(id) = self.current().map(Row::id) else { return };
        if !self.marks.remove(&id) {
            self.marks.insert(id.clone());
        }
        self.anchor = Some(id);
        self.go(self.at + 1);
    }

    fn mark_range(&mut self) {
        let from = self.anchor.as_ref().and_then(|id| self.shown.iter().position(|at| self.rows[*at].id() == *id));
        let from = from.unwrap_or(self.at);
        for place in from.min(self.at)..=from.max(self.at) {
            if let Some(at) = self.shown.get(place) {
                self.marks.insert(self.rows[*at].id());
            }
        }
        self.anchor = self.cursor.clone();
    }

    fn mark_all(&mut self) {
        let ids: HashSet<T::Id> = self.shown().map(Row::id).collect();
        self.marks_before = Some(self.marks.clone());
        if ids.iter().all(|id| self.marks.contains(id)) {
            self.marks.retain(|id| !ids.contains(id));
        } else {
            self.marks.extend(ids);
        }
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

    /// `8/1 204  sort name  filter x  marked 2`
    pub(crate) fn standing(&self, total: Option<i64>) -> String {
        let whole = |n: usize| super::words::count(i64::try_from(n).unwrap_or(i64::MAX));
        let position = if self.shown.is_empty() { 0 } else { self.at + 1 };
        let mut text = format!("{}/{}", whole(position), whole(self.shown.len()));
        let rows = i64::try_from(self.rows.len()).unwrap_or(i64::MAX);
        if self.shown.len() != self.rows.len() {
            let _ = write!(text, " of {}", whole(self.rows.len()));
        } else if let Some(total) = total.filter(|total| *total > rows) {
            let _ = write!(text, " of {}", super::words::count(total));
        }
        if let Some((column, _)) = self.sort {
            let _ = write!(text, "  sort {}", T::columns()[column].title.to_lowercase());
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
                let _ = write!(text, " of {}", crate::output::human_bytes(weight));
            }
        }
        text
    }

    /// The rows in a window of `height`, from which one on.
    fn windowed(&self, height: usize) -> usize {
        let (mut top, _) = self.window.get();
        let height = height.max(1);
        if self.at < top {
            top = self.at;
        } else if self.at >= top + height {
            top = self.at + 1 - height;
        }
        top = top.min(self.shown.len().saturating_sub(height));
        self.window.set((top, height));
        top
    }
}

#[cfg(test)]
mod tests;
