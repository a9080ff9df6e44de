//! Drawing primitives: text that stays inside its area, rules and boxes.
//!
//! Draws in Unicode and in roles; `plain` replaces what a terminal cannot show. All text is sanitised here, so that
//! control characters in names do not reach the terminal.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier, Style},
};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::output::clean_line;

/// The role of a text, which decides its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Text,
    /// Dim instead of a dark colour, because dark colours are invisible on some terminals.
    Muted,
    Accent,
    Ok,
    Warn,
    Error,
    Title,
    Key,
    Selected,
    /// The row under the cursor in a pane without the focus.
    Resting,
}

impl Role {
    pub(crate) fn style(self) -> Style {
        let plain = Style::new();
        match self {
            Self::Text => plain,
            Self::Muted => plain.add_modifier(Modifier::DIM),
            Self::Accent => plain.fg(Color::Cyan),
            Self::Ok => plain.fg(Color::Green),
            Self::Warn => plain.fg(Color::Yellow),
            Self::Error => plain.fg(Color::Red).add_modifier(Modifier::BOLD),
            Self::Title | Self::Key => plain.add_modifier(Modifier::BOLD),
            Self::Selected => plain.add_modifier(Modifier::REVERSED | Modifier::BOLD),
            Self::Resting => plain.add_modifier(Modifier::UNDERLINED),
        }
    }
}

/// Returns the width of `text` in cells.
pub(crate) fn width(text: &str) -> u16 {
    u16::try_from(text.width()).unwrap_or(u16::MAX)
}

/// Truncates `text` to at most `room` cells, with an ellipsis.
pub(crate) fn fit(text: &str, room: u16) -> String {
    let clean = clean_line(text);
    if width(&clean) <= room {
        return clean.into_owned();
    }
    let Some(room) = room.checked_sub(1) else { return String::new() };
    let (mut kept, mut used) = (String::new(), 0);
    for c in clean.chars() {
        let cells = u16::try_from(c.width().unwrap_or(0)).unwrap_or(2);
        if used + cells > room {
            break;
        }
        kept.push(c);
        used += cells;
    }
    kept + "…"
}

/// Pads `text` with blanks to at least `room` cells, measured by display width.
pub(crate) fn pad(text: &str, room: u16) -> String {
    let clean = clean_line(text);
    let blanks = room.saturating_sub(width(&clean));
    clean.into_owned() + &" ".repeat(usize::from(blanks))
}

/// Breaks `text` into lines of at most `room` cells, at blanks where possible.
pub(crate) fn wrapped(text: &str, room: u16) -> Vec<String> {
    let room = usize::from(room.max(1));
    let mut lines = Vec::new();
    for line in text.lines() {
        let clean = clean_line(line);
        let (mut kept, mut used) = (String::new(), 0);
        for word in clean.split_inclusive(' ') {
            if used > 0 && used + word.trim_end().width() > room {
                lines.push(std::mem::take(&mut kept).trim_end().to_owned());
                used = 0;
            }
            for c in word.chars() {
                let cells = c.width().unwrap_or(0);
                if used > 0 && used + cells > room && c != ' ' {
                    lines.push(std::mem::take(&mut kept));
                    used = 0;
                }
                kept.push(c);
                used += cells;
            }
        }
        lines.push(kept.trim_end().to_owned());
    }
    lines
}

/// Writes into the first row of `area`. Returns the number of cells used.
pub(crate) fn text(buf: &mut Buffer, area: Rect, text: &str, role: Role) -> u16 {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return 0;
    }
    let shown = fit(text, area.width);
    let (end, _) = buf.set_stringn(area.x, area.y, &shown, usize::from(area.width), role.style());
    end - area.x
}

/// Writes at the right end of the first row of `area`. Returns the number of cells used.
pub(crate) fn fit_left(buf: &mut Buffer, area: Rect, what: &str, role: Role) -> u16 {
    let shown = fit(what, area.width);
    let cells = width(&shown).min(area.width);
    text(buf, Rect { x: area.right() - cells, width: cells, ..area }, &shown, role);
    cells
}

/// Writes into the middle of the first row of `area`.
pub(crate) fn centred(buf: &mut Buffer, area: Rect, what: &str, role: Role) {
    let shown = fit(what, area.width);
    let before = (area.width - width(&shown).min(area.width)) / 2;
    text(buf, Rect { x: area.x + before, width: area.width - before, ..area }, &shown, role);
}

/// Draws a horizontal rule with a title in the first row of `area`.
pub(crate) fn rule(buf: &mut Buffer, area: Rect, title: &str) {
    text(buf, area, &"─".repeat(usize::from(area.width)), Role::Muted);
    if !title.is_empty() {
        let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(4), ..area };
        text(buf, inner, &format!(" {title} "), Role::Title);
    }
}

/// Draws an empty box with a border in the middle of `area`. Returns its inner area.
pub(crate) fn boxed(buf: &mut Buffer, area: Rect, wide: u16, high: u16, title: &str) -> Rect {
    let (wide, high) = (wide.min(area.width), high.min(area.height));
    let frame =
        Rect { x: area.x + (area.width - wide) / 2, y: area.y + (area.height - high) / 2, width: wide, height: high };
    if wide < 4 || high < 3 {
        return Rect::ZERO;
    }
    for y in frame.y..frame.bottom() {
        for x in frame.x..frame.right() {
            buf[(x, y)].reset();
        }
    }
    let line = "─".repeat(usize::from(wide - 2));
    let row = |y: u16| Rect { y, height: 1, ..frame };
    text(buf, row(frame.y), &format!("┌{line}┐"), Role::Muted);
    text(buf, row(frame.bottom() - 1), &format!("└{line}┘"), Role::Muted);
    for y in frame.y + 1..frame.bottom() - 1 {
        text(buf, row(y), "│", Role::Muted);
        text(buf, Rect { x: frame.right() - 1, width: 1, ..row(y) }, "│", Role::Muted);
    }
    let heading = Rect { x: frame.x + 2, width: wide - 4, ..row(frame.y) };
    text(buf, heading, &format!(" {title} "), Role::Title);
    // A wide character that crosses the border would be cut in half.
    if frame.x > area.x {
        let left = frame.x - 1;
        for y in frame.y..frame.bottom() {
            if width(buf[(left, y)].symbol()) > 1 {
                buf[(left, y)].set_symbol(" ");
            }
        }
    }
    Rect { x: frame.x + 2, y: frame.y + 1, width: wide - 4, height: high - 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_text_says_so_and_never_takes_more() {
        let cases = [
            ("gateway", 7, "gateway"),
            ("gateway", 4, "gat…"),
            ("gateway", 1, "…"),
            ("gateway", 0, ""),
            ("日本語", 4, "日…"),
        ];
        for (text, room, shown) in cases {
            assert_eq!(fit(text, room), shown);
            assert!(width(shown) <= room.max(1));
        }
        assert_eq!(
            wrapped("one two three\n\nabcdefghij 日本語", 8),
            ["one two", "three", "", "abcdefgh", "ij", "日本語"]
        );
        assert_eq!((pad("ab", 4), pad("日本", 6), pad("日本語", 2)), ("ab  ".into(), "日本  ".into(), "日本語".into()));
        assert_eq!(fit("a\x1b[31mb\nc", 20), "a\u{fffd}[31mb\u{fffd}c");
    }
}
