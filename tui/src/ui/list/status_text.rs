//! The text about a list in the status line.

use std::fmt::Write as _;

use super::{List, Row};
use crate::ui::words;

impl<T: Row> List<T> {
    /// Formats position, sort column, filter and marks, for example `8/1 204  sort name  filter x  marked 2`.
    pub(crate) fn status_text(&self, total: Option<i64>) -> String {
        let count = |n: usize| words::count(i64::try_from(n).unwrap_or(i64::MAX));
        let position = if self.shown.is_empty() { 0 } else { self.at + 1 };
        let mut text = format!("{}/{}", count(position), count(self.shown.len()));
        let rows = i64::try_from(self.rows.len()).unwrap_or(i64::MAX);
        if self.shown.len() != self.rows.len() {
            let _ = write!(text, " of {}", count(self.rows.len()));
        } else if let Some(total) = total.filter(|total| *total > rows) {
            let _ = write!(text, " of {}", words::count(total));
        }
        if let Some((column, _)) = self.sort {
            let _ = write!(text, "  sort {}", T::columns()[column].title.to_lowercase());
        }
        if !self.filter.text().is_empty() {
            let _ = write!(text, "  filter {}", self.filter.text());
        }
        if self.only_problems {
            text.push_str("  only problems");
        }
        if !self.marks.is_empty() {
            let weight: i64 = self.rows.iter().filter(|row| self.marks.contains(&row.id())).map(Row::weight).sum();
            let _ = write!(text, "  marked {}", self.marks.len());
            if weight > 0 {
                let _ = write!(text, " of {}", crate::output::human_bytes(weight));
            }
            if self.hidden_marks() > 0 {
                let _ = write!(text, ", {} hidden", self.hidden_marks());
            }
        }
        text
    }
}
