//! Rows that come page by page while older ones are still shown.
//!
//! Owns them until they are complete. Most rows are as they were, and those are only counted: to ask
//! for a long list again must not keep it twice.

use super::Row;

/// How many older rows in succession may be gone; beyond, what follows is kept though it is known.
const GONE_MAX: usize = 64;

/// Rows on their way. The older rows must stay as they are until the last of these is there.
#[derive(Debug)]
pub(super) struct Coming<T> {
    /// Places among the older rows, and behind those among the new ones.
    places: Vec<usize>,
    new: Vec<T>,
    /// The older row that most likely comes next.
    next: usize,
}

impl<T> Default for Coming<T> {
    fn default() -> Self {
        Self { places: Vec::new(), new: Vec::new(), next: 0 }
    }
}

impl<T: Row> Coming<T> {
    /// One more row, beside all `older` ones.
    pub(super) fn add(&mut self, row: T, older: &[T]) {
        let id = row.id();
        let ahead = older.iter().skip(self.next).take(GONE_MAX).position(|old| old.id() == id);
        let place = ahead.map(|by| self.next + by);
        self.next = place.map_or(self.next, |place| place + 1);
        match place {
            Some(place) if older[place] == row => self.places.push(place),
            _ => {
                self.places.push(older.len() + self.new.len());
                self.new.push(row);
            }
        }
    }

    /// All rows; none if they are the older ones.
    pub(super) fn rows(self, older: &[T]) -> Option<Vec<T>> {
        if self.places.iter().copied().eq(0..older.len()) {
            return None;
        }
        let row = |place: &usize| older.get(*place).or_else(|| self.new.get(place - older.len()));
        Some(self.places.iter().filter_map(row).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{Thing, thing},
        *,
    };

    fn all(older: &[Thing], rows: &[Thing]) -> (usize, Option<Vec<Thing>>) {
        let mut coming = Coming::default();
        for row in rows {
            coming.add(row.clone(), older);
        }
        (coming.new.len(), coming.rows(older))
    }

    #[test]
    fn only_rows_that_changed_are_there_twice() {
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
        // Another order, and more that is gone than is looked at: everything is kept, and right.
        let turned: Vec<Thing> = older.iter().rev().cloned().collect();
        assert_eq!(all(&older, &turned).1, Some(turned));
        assert_eq!(all(&older, &older[500..]).1, Some(older[500..].to_vec()));
        assert_eq!(all(&[], &older), (1_000, Some(older)));
    }
}
