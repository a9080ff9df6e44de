//! The rows that are to be seen, and what came above them.
//!
//! Whoever reads must not lose the line: when rows come above the window, it stays where it is and
//! says how many they are.

use std::collections::HashSet;

use super::{List, Row};
use crate::ui::{words, world::World};

/// From so many columns on there is room for a few more words.
const ROOMY: u16 = 110;

/// Where a list stood before its rows changed.
#[derive(Debug)]
pub(super) struct Stand<T: Row> {
    /// The first row in the window.
    first: Option<T::Id>,
    /// The cursor's line in the window.
    line: usize,
    above: usize,
}

impl<T: Row> List<T> {
    /// The rows in a window of `height`, from which one on.
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
        // Who goes up has seen them.
        self.above.set(self.above.get().min(top));
        top
    }

    /// How many shown rows are below the cursor.
    pub(crate) fn below(&self) -> usize {
        self.shown.len().saturating_sub(self.at + 1)
    }

    /// How many rows came above the window and were not looked at.
    pub(crate) fn news(&self, world: &World) -> Option<String> {
        let above = self.above.get();
        let many = words::count(i64::try_from(above).unwrap_or(i64::MAX));
        let how = if world.size.width < ROOMY { "" } else { " above - g" };
        (above > 0).then(|| format!("^ {many} new{how}"))
    }

    pub(super) fn stand(&self) -> Stand<T> {
        let (top, _) = self.window.get();
        let first = self.shown.get(top).map(|at| self.rows[*at].id());
        Stand { first, line: self.at.saturating_sub(top), above: self.above.get() }
    }

    /// Moves the window to where the same rows are: its first one, or the cursor's when that would be
    /// out of sight. `old` are the rows from before.
    pub(super) fn stand_still(&self, before: &Stand<T>, old: &[T]) {
        let (top, height) = self.window.get();
        let place = |id: &T::Id| self.shown.iter().position(|at| self.rows[*at].id() == *id);
        let mut now = before.first.as_ref().and_then(place).unwrap_or(top);
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
