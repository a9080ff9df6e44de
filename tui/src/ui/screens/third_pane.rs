//! The third pane of wide terminals: what belongs to the object under the cursor.
//!
//! A screen states the content. The width, the focus and the position are the same on all screens. The content comes
//! from data that the screen has loaded: drawing the pane sends no request.

use std::cell::Cell;

use ratatui::{buffer::Buffer, layout::Rect};

use super::text_scroll::Lines;
use crate::ui::{
    keymap::Action,
    view::{LinePart, Role, fit_left, parts, rule, text, wrapped},
};

/// Part of the width for the third pane, in percent.
const SHARE: u32 = 28;

/// A title and lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThirdPane {
    title: String,
    lines: Vec<Vec<LinePart>>,
}

impl ThirdPane {
    /// Creates a pane whose lines are cut at its width.
    pub(super) fn of(title: impl Into<String>, lines: Vec<Vec<LinePart>>) -> Self {
        Self { title: title.into(), lines }
    }

    /// Creates a pane with a text that is wrapped to `room` cells.
    pub(super) fn text(title: impl Into<String>, lines: Lines, room: u16) -> Self {
        let wrap = |(role, line): (Role, String)| {
            let fragments = if line.is_empty() { vec![String::new()] } else { wrapped(&line, room) };
            fragments.into_iter().map(move |fragment| vec![LinePart::Text(role, fragment)]).collect::<Vec<_>>()
        };
        Self::of(title, lines.into_iter().flat_map(wrap).collect())
    }

    /// Creates a pane with one muted line, such as the state of loading.
    pub(super) fn note(title: impl Into<String>, note: &str) -> Self {
        Self::of(title, vec![vec![LinePart::Text(Role::Muted, note.to_owned())]])
    }

    /// Creates a pane whose data is being requested.
    pub(super) fn loading(title: impl Into<String>) -> Self {
        Self::note(title, "loading …")
    }
}

/// Returns the areas of the panes of the screen, of the line, and of the third pane.
pub(crate) fn third_pane_areas(area: Rect) -> [Rect; 3] {
    let pane = u16::try_from(u32::from(area.width) * SHARE / 100).unwrap_or(area.width);
    let left = area.width - pane;
    [
        Rect { width: left.saturating_sub(1), ..area },
        Rect { x: area.x + left, width: pane.min(1), ..area },
        Rect { x: area.x + left + pane.min(2), width: pane.saturating_sub(2), ..area },
    ]
}

/// The position in the third pane, and where the pane was last drawn.
#[derive(Debug, Default)]
pub(crate) struct ThirdPaneScroll {
    top: usize,
    /// Empty if the pane was not drawn.
    area: Cell<Rect>,
}

impl ThirdPaneScroll {
    /// Shows the beginning.
    pub(crate) fn restart(&mut self) {
        self.top = 0;
    }

    /// Records that the pane is not drawn.
    pub(crate) fn hide(&self) {
        self.area.set(Rect::ZERO);
    }

    pub(crate) fn area(&self) -> Rect {
        self.area.get()
    }

    /// Moves the visible part of `pane`.
    pub(crate) fn act(&mut self, action: Action, pane: &ThirdPane) {
        let rows = usize::from(self.area().height.saturating_sub(1)).max(1);
        let last = pane.lines.len().saturating_sub(rows);
        let page = rows.saturating_sub(1).max(1);
        let top = match action {
            Action::Down => self.top + 1,
            Action::Up => self.top.saturating_sub(1),
            Action::PageDown => self.top + page,
            Action::PageUp => self.top.saturating_sub(page),
            Action::HalfDown => self.top + page.div_ceil(2),
            Action::HalfUp => self.top.saturating_sub(page.div_ceil(2)),
            Action::First => 0,
            Action::Last => last,
            _ => self.top,
        };
        self.top = top.min(last);
    }

    /// Draws `pane` with its heading, which is highlighted if the pane has the focus.
    pub(crate) fn draw(&self, pane: &ThirdPane, focused: bool, area: Rect, buf: &mut Buffer) {
        self.area.set(area);
        let head = Rect { height: area.height.min(1), ..area };
        rule(buf, head, &pane.title);
        if focused {
            let title = Rect { x: head.x + head.width.min(2), width: head.width.saturating_sub(4), ..head };
            text(buf, title, &format!(" {} ", pane.title), Role::Selected);
        }
        let rows = usize::from(area.height - head.height);
        let top = self.top.min(pane.lines.len().saturating_sub(rows));
        if pane.lines.len() > rows {
            fit_left(buf, head, &format!(" line {}/{}", top + 1, pane.lines.len()), Role::Muted);
        }
        for (line, y) in pane.lines.iter().skip(top).zip(head.bottom()..area.bottom()) {
            parts(buf, Rect { y, height: 1, ..area }, line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> ThirdPane {
        let lines = (1..=count).map(|number| (Role::Text, format!("row {number}"))).collect();
        ThirdPane::text("Rows", lines, 20)
    }

    fn drawn(scroll: &ThirdPaneScroll, pane: &ThirdPane) -> Vec<String> {
        let mut buf = Buffer::empty(Rect::new(0, 0, 24, 4));
        let area = buf.area;
        scroll.draw(pane, true, area, &mut buf);
        let rows = buf.content.chunks(24).map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    #[test]
    fn the_areas_lie_beside_each_other_and_inside_the_whole() {
        let [panes, line, pane] = third_pane_areas(Rect::new(0, 1, 200, 57));
        assert_eq!((panes.width, line.x, line.width), (143, 144, 1));
        assert_eq!((pane.x, pane.width, pane.height), (146, 54, 57));
        for width in 0..300 {
            let area = Rect::new(0, 0, width, 9);
            assert!(third_pane_areas(area).iter().all(|part| part.right() <= area.right()), "{width}");
        }
    }

    #[test]
    fn the_position_stays_inside_the_text_and_is_shown_if_not_all_of_it_fits() {
        let (mut scroll, pane) = (ThirdPaneScroll::default(), numbered(5));
        assert_eq!(drawn(&scroll, &pane), ["── Rows ─────── line 1/5", "row 1", "row 2", "row 3"]);
        for (action, first) in [
            (Action::Down, "row 2"),
            (Action::PageDown, "row 3"),
            (Action::Down, "row 3"),
            (Action::Up, "row 2"),
            (Action::First, "row 1"),
            (Action::Last, "row 3"),
            (Action::HalfUp, "row 2"),
        ] {
            scroll.act(action, &pane);
            assert_eq!(drawn(&scroll, &pane)[1], first, "{action:?}");
        }
        // Fewer lines than before.
        assert_eq!(drawn(&scroll, &numbered(2))[..2], ["── Rows ────────────────", "row 1"]);
    }

    #[test]
    fn long_lines_of_a_text_are_wrapped_and_blank_ones_stay() {
        let lines = vec![(Role::Text, "one two three".to_owned()), (Role::Text, String::new())];
        assert_eq!(ThirdPane::text("Text", lines, 8).lines.len(), 3);
    }
}
