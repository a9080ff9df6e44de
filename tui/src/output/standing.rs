//! A page that stays where it is on a terminal while what it says changes.
//!
//! Each time it is written over itself, line by line: nothing is cleared first, so nothing flickers, and
//! what stood on the terminal before stays there.

use std::fmt::Write as _;

use super::{clean, write};
use crate::exit::Failure;

/// The page, and how many lines of it are on the terminal.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    lines: usize,
}

impl Standing {
    /// Writes the page where it stood before.
    pub(crate) fn replace(&mut self, page: &str) -> Result<(), Failure> {
        // Lines that the terminal would break in two would make the page higher than it is known to be.
        let columns = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns));
        write(&self.over(page, columns))
    }

    fn over(&mut self, page: &str, columns: usize) -> String {
        let mut text = String::new();
        if self.lines > 0 {
            let _ = write!(text, "\x1b[{}A\r", self.lines);
        }
        let page = clean::lines(page);
        self.lines = page.lines().count();
        for (at, line) in page.lines().enumerate() {
            let shown: String = line.chars().take(columns.saturating_sub(1)).collect();
            // What is left of an earlier line goes, and below the last one what is left of an earlier page.
            let clear = if at + 1 == self.lines { "\x1b[J" } else { "\x1b[K" };
            let _ = writeln!(text, "{shown}{clear}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_written_over_itself_and_never_steers() {
        let mut standing = Standing::default();
        assert_eq!(standing.over("one\ntwo\n", 80), "one\x1b[K\ntwo\x1b[J\n");
        assert_eq!(standing.over("a longer line\n", 6), "\x1b[2A\ra lon\x1b[J\n");
        assert_eq!(standing.over("x\x1b[2J\n", 80), "\x1b[1A\rx\u{fffd}[2J\x1b[J\n");
    }
}
