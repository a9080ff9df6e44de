//! What a table is made of: rows that have columns, and what their cells show.

use std::{cmp::Ordering, fmt::Debug, hash::Hash};

use super::{Field, Haystack};
use crate::ui::{times::Clock, view::Role};

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
    pub(crate) cell: fn(&T, &Clock) -> Shown,
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
    fn filters() -> &'static [Field];
    fn is_problem(&self) -> bool;
    /// Bytes that it stands for, which marks add up.
    fn weight(&self) -> i64 {
        0
    }
    /// The column that takes the cells that are left.
    fn flexible() -> usize {
        0
    }
    /// Columns of ages, which need more room where times are written in full.
    fn ages() -> &'static [&'static str] {
        &[]
    }
    /// Cells by which the first column is moved to the right.
    fn indent(&self) -> u16 {
        0
    }
}
