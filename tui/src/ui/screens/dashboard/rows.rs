//! Draws the rows of the dashboard that the cursor can be on: sentences of one or more lines.

use std::ops::Range;

use ratatui::{buffer::Buffer, layout::Rect};

use crate::ui::{
    times::Clock,
    view::{Role, fit, fit_left, pad, text, width, wrapped},
};

use super::activity::Activity;

/// Width of the time of an activity, in cells.
const TIME: u16 = 8;

/// A sentence, and a note at the right end of its first line.
pub(super) struct SentenceRow {
    /// Written before the first line.
    start: String,
    lines: Vec<String>,
    aside: String,
    role: Role,
}

impl SentenceRow {
    /// Lays out a sentence in at most `lines_max` lines of a row with `room` cells. A longer one ends with an ellipsis.
    pub(super) fn new(start: &str, sentence: &str, aside: String, role: Role, room: u16, lines_max: usize) -> Self {
        let beside = if aside.is_empty() { 0 } else { width(&aside) + 1 };
        let room = room.saturating_sub(1 + width(start) + beside);
        let mut lines = wrapped(sentence, room);
        if lines.len() > lines_max {
            let rest = lines.split_off(lines_max.saturating_sub(1)).join(" ");
            lines.push(fit(&rest, room));
        }
        Self { start: start.to_owned(), lines, aside, role }
    }

    fn height(&self) -> u16 {
        u16::try_from(self.lines.len()).unwrap_or(u16::MAX).max(1)
    }

    fn draw(&self, is_here: bool, area: Rect, buf: &mut Buffer) {
        let role = if is_here { Role::Selected } else { self.role };
        if is_here {
            buf.set_style(area.intersection(buf.area), role.style());
        }
        let start = format!("{}{}", if is_here { ">" } else { " " }, self.start);
        let indent = width(&start);
        for (index, (line, y)) in self.lines.iter().zip(area.y..area.bottom()).enumerate() {
            let row = Rect { y, height: 1, ..area };
            if index == 0 {
                text(buf, row, &format!("{start}{line}"), role);
            } else {
                // The first line is enough to show the state.
                let role = if is_here { Role::Selected } else { Role::Text };
                text(buf, Rect { x: row.x + indent, width: row.width.saturating_sub(indent), ..row }, line, role);
            }
        }
        let aside = if is_here { Role::Selected } else { Role::Muted };
        fit_left(buf, Rect { height: area.height.min(1), ..area }, &self.aside, aside);
    }
}

/// Returns the rows that are visible in `room` lines: the first ones, or those up to the row `at`.
fn visible(heights: &[u16], at: usize, room: u16) -> Range<usize> {
    let fits =
        |rows: Range<usize>| heights[rows].iter().map(|height| usize::from(*height)).sum::<usize>() <= room.into();
    let top = if at < heights.len() { (0..at).find(|top| fits(*top..at + 1)).unwrap_or(at) } else { 0 };
    let count = (top..heights.len()).take_while(|end| fits(top..end + 1)).count();
    top..(top + count.max(1)).min(heights.len())
}

/// Draws the rows around the row `at`, which has the cursor. Returns the number of visible rows and of their lines.
pub(super) fn draw(rows: &[SentenceRow], at: usize, area: Rect, buf: &mut Buffer) -> (usize, u16) {
    if area.is_empty() {
        return (0, 0);
    }
    let heights: Vec<u16> = rows.iter().map(SentenceRow::height).collect();
    let shown = visible(&heights, at, area.height);
    let count = shown.len();
    let mut y = area.y;
    for index in shown {
        let height = heights[index].min(area.bottom() - y);
        rows[index].draw(index == at, Rect { y, height, ..area }, buf);
        y += height;
    }
    (count, y - area.y)
}

/// Returns the row of an activity: its time and its sentence. Failed deliveries have a mark.
pub(super) fn activity_row(one: &Activity, clock: &Clock, room: u16, lines_max: usize) -> SentenceRow {
    let (mark, role) = if one.results.has_failures() { ("!", Role::Warn) } else { (" ", Role::Text) };
    let start = format!("{mark}{}  ", pad(&clock.time(&one.at), TIME));
    let sentence = one.text(room.saturating_sub(1 + width(&start)));
    SentenceRow::new(&start, &sentence, String::new(), role, room, lines_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_continues_on_the_next_line_and_ends_with_an_ellipsis() {
        let row =
            |sentence: &str, lines_max| SentenceRow::new("! ", sentence, "2h".into(), Role::Error, 20, lines_max).lines;
        assert_eq!(row("hook 12 failed", 2), ["hook 12 failed"]);
        assert_eq!(row("hook 12 failed 22 times", 2), ["hook 12 failed", "22 times"]);
        assert_eq!(row("hook 12 failed 22 times in a row", 2), ["hook 12 failed", "22 times in a…"]);
        assert_eq!(row("hook 12 failed 22 times", 1), ["hook 12 faile…"]);
    }

    #[test]
    fn the_row_under_the_cursor_is_visible() {
        let heights = [2, 1, 2, 1];
        assert_eq!(visible(&heights, 0, 3), 0..2);
        assert_eq!(visible(&heights, 2, 3), 1..3);
        assert_eq!(visible(&heights, 3, 4), 1..4);
        assert_eq!(visible(&heights, 2, 1), 2..3);
        assert_eq!(visible(&heights, usize::MAX, 6), 0..4);
        assert_eq!(visible(&[], 0, 6), 0..0);
    }
}
