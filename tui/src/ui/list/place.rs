//! The place in a list, and the return to it, now or as soon as its row is loaded.

use super::{Filter, List, Row};
use crate::ui::place::ListPlace;

/// A row that the cursor moves to as soon as it is loaded.
#[derive(Debug)]
pub(super) struct SoughtRow {
    /// The key, see [`row_key`].
    key: String,
    /// The cursor's line in the window.
    line: usize,
}

/// Returns the text that identifies a row in a place.
fn row_key<T: Row>(id: &T::Id) -> String {
    format!("{id:?}")
}

impl<T: Row> List<T> {
    /// Returns the place.
    pub(crate) fn place(&self) -> ListPlace {
        let (top, _) = self.window.get();
        let pending = self.pending_cursor.as_ref().map(row_key::<T>);
        let sought = self.sought.as_ref().map(|sought| sought.key.clone()).or(pending);
        ListPlace {
            row: sought.or_else(|| self.current().map(|row| row_key::<T>(&row.id()))),
            filter: self.filter.text().to_owned(),
            only_problems: self.only_problems,
            line: self.at.saturating_sub(top),
        }
    }

    /// Returns to a place. A filter that this version does not know is dropped.
    pub(crate) fn restore(&mut self, place: &ListPlace) {
        self.filter = Filter::parse(&place.filter, T::FILTERS).unwrap_or_default();
        self.only_problems = place.only_problems;
        self.pending_cursor = None;
        self.sought = place.row.clone().map(|key| SoughtRow { key, line: place.line });
        self.seek(0);
        self.arrange();
    }

    /// Looks for the row of a place among the rows from index `from` on.
    pub(super) fn seek(&mut self, from: usize) {
        let Some(sought) = &self.sought else { return };
        let mut ids = self.rows[from..].iter().map(Row::id);
        if let Some(id) = ids.find(|id| row_key::<T>(id) == sought.key) {
            self.pending_cursor = Some(id);
        }
    }

    /// Scrolls to the line of the place when the cursor has found its row.
    pub(super) fn scroll_to_sought(&mut self) {
        if let Some(sought) = self.sought.take() {
            let (_, height) = self.window.get();
            self.window.set((self.at.saturating_sub(sought.line), height));
        }
    }

    /// Returns whether a row is loaded, shown or not.
    pub(crate) fn has_row(&self, key: &str) -> bool {
        let is_current = self.current().is_some_and(|row| row_key::<T>(&row.id()) == key);
        is_current || self.rows.iter().any(|row| row_key::<T>(&row.id()) == key)
    }

    /// Moves the cursor to a row that a command names, now or when it is loaded. A filter that hides it is dropped.
    pub(crate) fn show(&mut self, id: T::Id) {
        self.sought = None;
        self.select(id.clone());
        if self.current().is_none_or(|row| row.id() != id) {
            (self.filter, self.only_problems) = (Filter::default(), false);
            self.select(id);
        }
    }
}
