//! Tables for people.
//!
//! Columns are as wide as their longest cell. The last one is not padded: what may hold wide
//! characters goes there.

use super::clean;

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
        if self.rows.len() == 1 {
            return String::new();
        }
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; N] = std::array::from_fn(width);
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
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
}
