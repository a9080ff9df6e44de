//! Tables for people.
//!
//! Columns are as wide as their longest cell. On a terminal the widest ones are shortened until a row
//! fits into a line.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{clean, style};

/// Cells between two columns.
const GAP: usize = 2;
/// A column is not made narrower than this.
const COLUMN_MIN: usize = 6;

/// Rows below a heading.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(heading: [&str; N]) -> Self {
        Self { rows: vec![heading.map(str::to_owned)] }
    }

    /// Adds a row. Line breaks and the like would break the table, on a terminal or not.
    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| clean::line(&cell).into_owned()));
    }

    /// A row for each line; nothing for a table without rows.
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
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                let cell = shortened(cell, width);
                let padding = width.saturating_sub(cell.width()) + GAP;
                line.push_str(&cell);
                line.extend(std::iter::repeat_n(' ', padding));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Takes cells from the widest columns until the sum is at most `room`.
fn narrow(widths: &mut [usize], room: usize) {
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max() {
            Some(widest) if *widest > COLUMN_MIN => *widest -= 1,
            _ => return,
        }
    }
}

/// The text in at most `width` cells, with `…` in place of what is left out.
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
    fn columns_line_up_and_cells_stay_cells() {
        let mut table = Table::new(["ID", "NAME"]);
        assert_eq!(table.render(), "");
        table.row(["7".into(), "a\nb".into()]);
        table.row(["1234".into(), String::new()]);
        assert_eq!(table.render(), "ID    NAME\n7     a�b\n1234\n");
    }

    #[test]
    fn the_widest_columns_are_shortened_to_the_terminal() {
        let mut table = Table::new(["ID", "TARGET", "NAME"]);
        table.row(["7".into(), "https://ci.example/a/long/path".into(), "short".into()]);
        table.row(["8".into(), "日本日本日本日本日本日本".into(), "x".into()]);
        let text = table.fitted(Some(24));
        assert_eq!(text, "ID  TARGET         NAME\n7   https://ci.e…  short\n8   日本日本日本…  x\n");
        assert!(text.lines().all(|line| line.width() <= 24), "{text}");
        assert!(table.fitted(None).contains("https://ci.example/a/long/path"));
        // A terminal that is far too narrow does not make the table empty.
        assert!(table.fitted(Some(3)).contains("https…"));
    }
}
