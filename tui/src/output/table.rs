//! Tables for people.
//!
//! Columns are as wide as their longest cell. On a terminal, the widest columns are shortened until rows fit.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{clean, style};

/// Cells between two columns.
const GAP: usize = 2;
/// Columns are not shortened below this width.
const COLUMN_MIN: usize = 6;

/// Rows below a heading.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
    /// The column whose cells are states, which have colors.
    states: Option<usize>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(heading: [&str; N]) -> Self {
        Self { rows: vec![heading.map(str::to_owned)], states: None }
    }

    /// Colors the states in the column with this heading.
    pub(crate) fn with_states(mut self, heading: &str) -> Self {
        self.states = self.rows.first().and_then(|headings| headings.iter().position(|one| one == heading));
        self
    }

    /// Adds a row. Control characters, which would break the table, are replaced.
    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| clean::line(&cell).into_owned()));
    }

    /// Returns the table, a line for each row; empty without rows.
    pub(crate) fn render(&self) -> String {
        self.fitted(style::current().columns)
    }

    fn fitted(&self, columns: Option<usize>) -> String {
        if self.rows.len() == 1 {
            return String::new();
        }
        let width = |column: usize| self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        let mut widths: [usize; N] = std::array::from_fn(width);
        if let Some(columns) = columns {
            narrow(&mut widths, columns.saturating_sub(GAP * N.saturating_sub(1)));
        }
        let mut text = String::new();
        for (at, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
                let cell = shortened(cell, width);
                let padding = width.saturating_sub(cell.width()) + GAP;
                if at > 0 && self.states == Some(column) {
                    line.push_str(&style::state(&cell));
                } else {
                    line.push_str(&cell);
                }
                line.extend(std::iter::repeat_n(' ', padding));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Shortens the widest columns until the sum is at most `room`.
fn narrow(widths: &mut [usize], room: usize) {
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max() {
            Some(widest) if *widest > COLUMN_MIN => *widest -= 1,
            _ => return,
        }
    }
}

/// Returns the text in at most `width` cells; `…` marks a shortened text.
fn shortened(text: &str, width: usize) -> std::borrow::Cow<'_, str> {
    if text.width() <= width {
        return text.into();
    }
    let (mut short, mut used) = (String::new(), 1);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        short.push(c);
    }
    short.push('…');
    short.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_newlines_in_cells_are_replaced() {
        let mut table = Table::new(["ID", "NAME"]);
        assert_eq!(table.render(), "");
        table.row(["7".into(), "a\nb".into()]);
        table.row(["1234".into(), String::new()]);
        assert_eq!(table.render(), "ID    NAME\n7     a�b\n1234\n");
    }

    #[test]
    fn the_widest_columns_are_truncated_to_the_terminal_width() {
        let mut table = Table::new(["ID", "TARGET", "NAME"]);
        table.row(["7".into(), "https://ci.example/a/long/path".into(), "short".into()]);
        table.row(["8".into(), "日本日本日本日本日本日本".into(), "x".into()]);
        let text = table.fitted(Some(24));
        assert_eq!(text, "ID  TARGET         NAME\n7   https://ci.e…  short\n8   日本日本日本…  x\n");
        assert!(text.lines().all(|line| line.width() <= 24), "{text}");
        assert!(table.fitted(None).contains("https://ci.example/a/long/path"));
        // A terminal that is much too narrow still shows the beginning of each column.
        assert!(table.fitted(Some(3)).contains("https…"));
    }
}
