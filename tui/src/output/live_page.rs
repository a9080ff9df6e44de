//! A page that is updated in place on a terminal.
//!
//! Each update overwrites the page line by line. Nothing is cleared first, so the page does not flicker, and
//! earlier output stays on the terminal.

use std::fmt::Write as _;

use super::{clean, style, write};
use crate::exit::Failure;

/// A page, and the number of its lines on the terminal.
#[derive(Debug, Default)]
pub(crate) struct LivePage {
    lines: usize,
}

impl LivePage {
    /// Overwrites the previous page.
    pub(crate) fn replace(&mut self, page: &str) -> Result<(), Failure> {
        // A line that wraps would make the page higher than `lines`.
        let columns = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns));
        write(&self.over(page, columns))
    }

    fn over(&mut self, page: &str, columns: usize) -> String {
        let mut text = String::new();
        if self.lines > 0 {
            let _ = write!(text, "\x1b[{}A\r", self.lines);
        }
        let page = clean::styled(page);
        self.lines = page.lines().count();
        for (at, line) in page.lines().enumerate() {
            let plain = style::plain(line);
            let is_cut = plain.chars().count() >= columns;
            let visible =
                if is_cut { plain.chars().take(columns.saturating_sub(1)).collect() } else { line.to_owned() };
            // Clears the rest of a longer line, and below the last line the rest of a longer page.
            let clear = if at + 1 == self.lines { "\x1b[J" } else { "\x1b[K" };
            let _ = writeln!(text, "{visible}{clear}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_updated_page_overwrites_the_previous_one_and_truncates_long_lines() {
        let mut live_page = LivePage::default();
        assert_eq!(live_page.over("one\ntwo\n", 80), "one\x1b[K\ntwo\x1b[J\n");
        assert_eq!(live_page.over("a longer line\n", 6), "\x1b[2A\ra lon\x1b[J\n");
        assert_eq!(live_page.over("x\x1b[2J\n", 80), "\x1b[1A\rx\u{fffd}[2J\x1b[J\n");
    }
}
