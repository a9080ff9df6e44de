//! Marks: rows that are selected one by one, in ranges or all at once.
//!
//! Marks are row IDs and survive filters and sorting. Actions apply to the shown marked rows if any row is marked,
//! else to the row under the cursor. They never apply to a row that a filter hides.

use std::collections::HashSet;

use super::{List, Row};
use crate::ui::{keymap::Object, screens::Selection};

impl<T: Row> List<T> {
    /// Returns the shown marked rows, or the row under the cursor if none is marked.
    pub(crate) fn targets(&self) -> Vec<&T> {
        if self.marks.is_empty() {
            return self.current().into_iter().collect();
        }
        self.shown().filter(|row| self.marks.contains(&row.id())).collect()
    }

    pub(crate) fn has_marks(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Returns the number of marked rows that a filter hides.
    pub(crate) fn hidden_marks(&self) -> usize {
        if self.marks.is_empty() { 0 } else { self.marks.len() - self.targets().len() }
    }

    /// Returns a note that hidden rows are left out.
    pub(crate) fn hidden_note(&self) -> Option<String> {
        match self.hidden_marks() {
            0 => None,
            1 => Some("1 marked row is hidden by the filter and left out".to_owned()),
            many => Some(format!("{many} marked rows are hidden by the filter and left out")),
        }
    }

    /// Returns the single row of an action: the marked one, or the one under the cursor. Fails with several marks.
    pub(crate) fn target(&self) -> Result<Option<&T>, String> {
        match (self.targets().as_slice(), self.hidden_note()) {
            ([], Some(note)) => Err(note),
            ([], None) => Ok(None),
            ([one], _) => Ok(Some(one)),
            (many, _) => Err(format!("needs one row, but {} are marked; Esc clears the marks", many.len())),
        }
    }

    /// Returns the selection of actions, with the IDs of the rows.
    pub(crate) fn selection(&self, object: Object, name: String) -> Option<Selection> {
        let ids: Vec<T::Id> = self.targets().into_iter().map(Row::id).collect();
        (!ids.is_empty()).then(|| Selection { object, name, rows: format!("{ids:?}") })
    }

    /// Describes the rows of actions: one row by its name, several by their number.
    pub(crate) fn subject(&self, name: impl Fn(&T) -> String, many: &str) -> Option<String> {
        match self.targets().as_slice() {
            [] => None,
            [one] => Some(name(one)),
            all => Some(format!("{} {many}", all.len())),
        }
    }

    /// Clears all marks.
    pub(crate) fn unmark(&mut self) {
        self.marks_before = Some(self.marks.clone());
        self.marks.clear();
        self.anchor = None;
    }

    /// Marks exactly these rows.
    pub(crate) fn mark_only(&mut self, ids: impl IntoIterator<Item = T::Id>) {
        self.marks = ids.into_iter().collect();
    }

    pub(super) fn mark(&mut self) {
        let Some(id) = self.current().map(Row::id) else { return };
        if !self.marks.remove(&id) {
            self.marks.insert(id.clone());
        }
        self.anchor = Some(id);
        self.go(self.at + 1);
    }

    pub(super) fn mark_range(&mut self) {
        let from = self.anchor.as_ref().and_then(|id| self.shown.iter().position(|at| self.rows[*at].id() == *id));
        let from = from.unwrap_or(self.at);
        for index in from.min(self.at)..=from.max(self.at) {
            if let Some(at) = self.shown.get(index) {
                self.marks.insert(self.rows[*at].id());
            }
        }
        self.anchor = self.cursor.clone();
    }

    pub(super) fn mark_all(&mut self) {
        let ids: HashSet<T::Id> = self.shown().map(Row::id).collect();
        self.marks_before = Some(self.marks.clone());
        if ids.iter().all(|id| self.marks.contains(id)) {
            self.marks.retain(|id| !ids.contains(id));
        } else {
            self.marks.extend(ids);
        }
    }
}
