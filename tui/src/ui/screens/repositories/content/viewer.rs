//! Shows a document: scrolls, wraps and searches it.

use std::cell::RefCell;

use ratatui::{buffer::Buffer, layout::Rect};

use super::document::Document;
use crate::{
    output::clean_line,
    ui::{
        keymap::Action,
        screens::text_scroll::{Lines, TextScroll},
        view::{Role, below, fit_left, text, width, wrapped},
    },
};

/// An open document.
#[derive(Debug)]
pub(in crate::ui::screens::repositories) struct Viewer {
    document: Document,
    /// The commit, and the path of a file in it; the path is empty for a document about the commit.
    source: (String, String),
    scroll: TextScroll,
    no_wrap: bool,
    /// The lines for the last width, because wrapping a long text for every frame would be slow.
    shown: RefCell<ShownLines>,
}

/// The lines of a document, wrapped for a width.
#[derive(Debug, Default)]
struct ShownLines {
    /// The width; 0 before the first drawing.
    cells: u16,
    no_wrap: bool,
    lines: Lines,
    /// The number of each line in the document; 0 for the continuation of a line.
    numbers: Vec<usize>,
}

impl Viewer {
    pub(super) fn new(document: Document) -> Self {
        let source = (String::new(), String::new());
        Self { document, source, scroll: TextScroll::default(), no_wrap: false, shown: RefCell::default() }
    }

    /// Sets the commit, and the path of the file in it.
    pub(super) fn of(mut self, commit: &str, path: &str) -> Self {
        self.source = (commit.to_owned(), path.to_owned());
        self
    }

    /// Shows the document from a line on.
    pub(super) fn at_line(mut self, top: usize) -> Self {
        self.scroll.scroll_to(top);
        self
    }

    /// Returns the commit, and the path of the file in it.
    pub(super) fn source(&self) -> (&str, &str) {
        (&self.source.0, &self.source.1)
    }

    /// Returns the first line of the window.
    pub(super) fn first_line(&self) -> usize {
        self.scroll.first_line()
    }

    /// Wraps the lines for the width of the last drawing.
    fn prepare(&self) {
        let cells = self.scroll.cells();
        let mut shown = self.shown.borrow_mut();
        if (shown.cells, shown.no_wrap) == (cells, self.no_wrap) {
            return;
        }
        let (mut lines, mut numbers) = (Lines::new(), Vec::new());
        for ((role, line), number) in self.document.lines.iter().zip(1..) {
            if self.no_wrap || width(line) <= cells {
                lines.push((*role, line.clone()));
                numbers.push(number);
                continue;
            }
            for (at, part) in wrapped(line, cells).into_iter().enumerate() {
                lines.push((*role, part));
                numbers.push(if at == 0 { number } else { 0 });
            }
        }
        *shown = ShownLines { cells, no_wrap: self.no_wrap, lines, numbers };
    }

    pub(in crate::ui::screens::repositories) fn search(&mut self, text: &str) {
        self.prepare();
        self.scroll.search(text, &self.shown.get_mut().lines);
    }

    pub(in crate::ui::screens::repositories) fn searched(&self) -> &str {
        self.scroll.searched()
    }

    /// Removes the search. Returns whether there was one.
    pub(in crate::ui::screens::repositories) fn forget_search(&mut self) -> bool {
        self.scroll.forget_search()
    }

    /// Carries out an action. Returns whether the action belongs to the viewer.
    pub(in crate::ui::screens::repositories) fn act(&mut self, action: Action) -> bool {
        if action == Action::Wrap {
            self.no_wrap = !self.no_wrap;
        }
        self.prepare();
        let lines = &self.shown.get_mut().lines;
        if action == Action::Wrap {
            self.scroll.clamp(lines);
            return true;
        }
        self.scroll.act(action, lines)
    }

    /// Returns the text for the pager, without control characters.
    pub(in crate::ui::screens::repositories) fn paged(&self) -> String {
        self.document.lines.iter().map(|(_, line)| clean_line(line).into_owned() + "\n").collect()
    }

    /// Returns the position, for example `line 5/41   2 of 7 with error`.
    pub(in crate::ui::screens::repositories) fn status(&self) -> String {
        self.prepare();
        self.scroll.status(&self.shown.borrow().lines)
    }

    /// Returns the width of the line numbers, in cells.
    fn gutter(&self) -> u16 {
        let digits = self.document.lines.len().to_string().len();
        if self.document.is_numbered { u16::try_from(digits).unwrap_or(0) + 2 } else { 0 }
    }

    pub(in crate::ui::screens::repositories) fn draw(&self, area: Rect, buf: &mut Buffer) {
        if area.height < 2 {
            return;
        }
        let head = Rect { height: 1, ..area };
        let noted = fit_left(buf, head, &self.document.note, Role::Muted);
        let title = Rect { width: area.width.saturating_sub(noted + 2), ..head };
        text(buf, title, &self.document.title, Role::Title);
        let body = below(area, 1);
        let gutter = self.gutter().min(body.width);
        let room = Rect { x: body.x + gutter, width: body.width - gutter, ..body };
        self.scroll.resize(room);
        self.prepare();
        let shown = self.shown.borrow();
        let top = self.scroll.top(&shown.lines);
        for (number, y) in shown.numbers.iter().skip(top).zip(body.y..body.bottom()) {
            if gutter > 2 && *number > 0 {
                let cell = Rect { y, height: 1, width: gutter - 2, ..body };
                fit_left(buf, cell, &number.to_string(), Role::Muted);
            }
        }
        self.scroll.draw(&shown.lines, room, buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(viewer: &Viewer, width: u16, height: u16) -> String {
        let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
        viewer.draw(buf.area, &mut buf);
        let symbols: Vec<&str> = buf.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        let rows = symbols.chunks(usize::from(width)).map(|row| row.concat().trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n")
    }

    fn viewer(lines: &[&str], is_numbered: bool) -> Viewer {
        let lines = lines.iter().map(|line| (Role::Text, (*line).to_owned())).collect();
        Viewer::new(Document { title: "a.rs".into(), note: "3 lines".into(), lines, is_numbered })
    }

    #[test]
    fn wrapped_lines_keep_the_number_of_their_first_part() {
        let mut viewer = viewer(&["one", "two words and some more of them", "three"], true);
        assert_eq!(
            drawn(&viewer, 26, 6),
            "a.rs               3 lines\n1  one\n2  two words and some more\n   of them\n3  three\n"
        );
        assert!(viewer.act(Action::Wrap));
        assert_eq!(drawn(&viewer, 26, 4), "a.rs               3 lines\n1  one\n2  two words and some mor…\n3  three");
    }

    #[test]
    fn control_characters_of_a_file_are_not_drawn_and_not_sent_to_the_pager() {
        let viewer = viewer(&["a\x1b]0;owned\x07b\u{202e}c"], true);
        let text = drawn(&viewer, 40, 3);
        assert!(text.contains("1  a\u{fffd}]0;owned\u{fffd}b\u{fffd}c"), "{text}");
        assert_eq!(viewer.paged(), "a\u{fffd}]0;owned\u{fffd}b\u{fffd}c\n");
    }

    #[test]
    fn matches_in_texts_whose_lower_case_is_shifted_and_in_one_long_line_are_drawn() {
        let long = "a ".repeat(200_000);
        let mut viewer = viewer(&["ȺȺ\u{212a} ka", &long], true);
        assert!(viewer.act(Action::Wrap));
        for search in ["k", "a"] {
            viewer.search(search);
            let text = drawn(&viewer, 40, 4);
            assert!(text.contains("1  ȺȺ\u{212a} ka") && text.contains("2  a a a"), "{text}");
        }
    }

    #[test]
    fn searching_scrolls_to_the_match_and_wraps_around() {
        let lines: Vec<String> = (1..=60).map(|number| format!("line {number}")).collect();
        let mut viewer = viewer(&lines.iter().map(String::as_str).collect::<Vec<_>>(), true);
        drawn(&viewer, 40, 11);
        viewer.search("line 5");
        assert!(drawn(&viewer, 40, 11).contains(" 5  line 5"));
        assert!(viewer.act(Action::NextMatch));
        assert!(drawn(&viewer, 40, 11).contains("50  line 50"), "{}", drawn(&viewer, 40, 11));
        assert!(viewer.status().contains("2 of 11 with line 5"), "{}", viewer.status());
        assert!(viewer.forget_search() && !viewer.forget_search());
    }
}
