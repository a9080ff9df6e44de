//! A single-line text editor.
//!
//! Supports the keys of readline. Pasted line breaks become blanks.

use tui_input::{Input, InputRequest as R};

use super::key::Key;

/// A line with a cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Input);

impl Line {
    pub(crate) fn new(text: &str) -> Self {
        Self(Input::new(text.to_owned()))
    }

    pub(crate) fn text(&self) -> &str {
        self.0.value()
    }

    /// Returns the width of the text before the cursor, in cells.
    pub(crate) fn cursor(&self) -> usize {
        self.0.visual_cursor()
    }

    /// Handles a key. Returns false if the key has no effect here.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        let request = match key {
            Key::Char(c) => R::InsertChar(c),
            Key::Backspace => R::DeletePrevChar,
            Key::Delete => R::DeleteNextChar,
            Key::Left => R::GoToPrevChar,
            Key::Right => R::GoToNextChar,
            Key::Home | Key::Ctrl('a') => R::GoToStart,
            Key::End | Key::Ctrl('e') => R::GoToEnd,
            Key::Ctrl('u') => R::DeleteLine,
            Key::Ctrl('w') => R::DeletePrevWord,
            Key::Ctrl('k') => R::DeleteTillEnd,
            _ => return false,
        };
        self.0.handle(request);
        true
    }

    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.trim_end_matches(['\r', '\n']).replace("\r\n", " ");
        for c in text.chars() {
            let c = if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c };
            if !c.is_control() {
                self.0.handle(R::InsertChar(c));
            }
        }
    }

    /// Returns the visible part in a field of `room` cells, and the position of the cursor in it.
    pub(crate) fn window(&self, room: u16) -> (String, u16) {
        let room = usize::from(room.max(1));
        let scroll = self.0.visual_scroll(room);
        let mut skipped = 0;
        let shown: String = self
            .text()
            .chars()
            .skip_while(|c| {
                let skip = skipped < scroll;
                skipped += unicode_width::UnicodeWidthChar::width(*c).unwrap_or(0);
                skip
            })
            .collect();
        (shown, u16::try_from(self.cursor().saturating_sub(scroll)).unwrap_or(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_like_in_a_shell() {
        let mut line = Line::new("one two");
        for key in [Key::Ctrl('w'), Key::Char('x'), Key::Ctrl('a'), Key::Char('>'), Key::End, Key::Backspace] {
            assert!(line.key(key));
        }
        assert_eq!(line.text(), ">one ");
        line.paste("a\r\nb\x1b[31m\n");
        assert_eq!(line.text(), ">one a b[31m");
        assert!(!line.key(Key::Enter) && !line.key(Key::Up));
        line.key(Key::Ctrl('u'));
        assert_eq!(line.window(5), (String::new(), 0));
        line.paste("abcdefghij");
        let (shown, cursor) = line.window(5);
        assert!(cursor <= 5 && shown.ends_with('j'), "{shown} {cursor}");
    }
}
