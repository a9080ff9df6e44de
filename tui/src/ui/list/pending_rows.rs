//! Rows that arrive page by page while older ones are still shown.
//!
//! Holds them until they are complete. An unchanged row is stored as an index of the older rows: a refresh of a
//! long list must not hold it in memory twice.

use super::Row;

/// How many successive older rows may be gone; after a longer gap the following rows are stored again.
const GONE_MAX: usize = 64;

/// Rows that are being loaded. The older rows must not change until all of these are loaded.
#[derive(Debug)]
pub(crate) struct PendingRows<T> {
    /// Indexes of the older rows; indexes beyond them refer to `new`.
    indexes: Vec<usize>,
    new: Vec<T>,
    /// Index of the older row that is expected next.
    next: usize,
}

impl<T> Default for PendingRows<T> {
    fn default() -> Self {
        Self { indexes: Vec::new(), new: Vec::new(), next: 0 }
    }
}

impl<T: Row> PendingRows<T> {
    /// Adds a row. `older` are the rows that are shown.
    pub(crate) fn add(&mut self, row: T, older: &[T]) {
        let id = row.id();
        let ahead = older.iter().skip(self.next).take(GONE_MAX).position(|old| old.id() == id);
        let index = ahead.map(|by| self.next + by);
        self.next = index.map_or(self.next, |index| index + 1);
        match index {
            Some(index) if older[index] == row => self.indexes.push(index),
            _ => {
                self.indexes.push(older.len() + self.new.len());
                self.new.push(row);
            }
        }
    }

    /// Returns all rows, or `None` if they equal the older ones.
    pub(crate) fn rows(self, older: &[T]) -> Option<Vec<T>> {
        if self.indexes.iter().copied().eq(0..older.len()) {
            return None;
        }
        let row = |index: &usize| older.get(*index).or_else(|| self.new.get(index - older.len()));
        Some(self.indexes.iter().filter_map(row).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{Thing, thing},
        *,
    };

    fn all(older: &[Thing], rows: &[Thing]) -> (usize, Option<Vec<Thing>>) {
        let mut pending_rows = PendingRows::default();
        for row in rows {
            pending_rows.add(row.clone(), older);
        }
        (pending_rows.new.len(), pending_rows.rows(older))
    }

    #[test]
    fn only_changed_rows_are_stored_twice() {
        let older: Vec<Thing> = (0..1_000).map(|id| thing(id, "x")).collect();
        assert_eq!(all(&older, &older), (0, None));
        let mut rows = older.clone();
        rows[7] = thing(7, "changed");
        rows.remove(500);
        rows.insert(3, thing(2_000, "new"));
        rows.push(thing(2_001, "new"));
        assert_eq!(all(&older, &rows), (3, Some(rows)));
        assert_eq!(all(&older, &older[..999]), (0, Some(older[..999].to_vec())));
        assert_eq!(all(&older, &[]), (0, Some(Vec::new())));
        // Another order, or a gap longer than the limit: all rows are stored, and the result is right.
        let turned: Vec<Thing> = older.iter().rev().cloned().collect();
        assert_eq!(all(&older, &turned).1, Some(turned));
        assert_eq!(all(&older, &older[500..]).1, Some(older[500..].to_vec()));
        assert_eq!(all(&[], &older), (1_000, Some(older)));
    }
}
