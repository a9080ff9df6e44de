//! Rows, columns and cells of a table.

use std::{cmp::Ordering, fmt::Debug, hash::Hash};

use super::{FilterColumn, Haystack};
use crate::ui::{times::Clock, view::Role};

/// Text and role of a cell.
#[derive(Clone, Debug)]
pub(crate) struct CellText {
    pub(crate) text: String,
    pub(crate) role: Role,
}

impl CellText {
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
    /// Minimum width in cells; the flexible column takes the rest.
    pub(crate) width: u16,
    pub(crate) right: bool,
    /// Columns with the highest rank are dropped first on narrow terminals.
    pub(crate) rank: u8,
    pub(crate) cell: fn(&T, &Clock) -> CellText,
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

    /// Name of the list in the configuration file; empty if its columns cannot be chosen.
    const LIST: &'static str = "";
    const COLUMNS: &'static [Column<Self>];
    /// Columns that filters can name.
    const FILTERS: &'static [FilterColumn];
    /// Whether a filter also searches on the daemon if not all rows are loaded.
    const IS_SEARCHED: bool = false;

    fn id(&self) -> Self::Id;
    fn is_problem(&self) -> bool;
    /// Returns the size in bytes; the status line shows the sum of the marked rows.
    fn weight(&self) -> i64 {
        0
    }
    /// Returns the index of the column that takes the remaining width.
    fn flexible() -> usize {
        0
    }
    /// Columns of ages, which are wider when times are shown in full.
    fn ages() -> &'static [&'static str] {
        &[]
    }
    /// Returns the indentation of the first column in cells.
    fn indent(&self) -> u16 {
        0
    }
}
