//! Drawing primitives: text that stays inside its area, rules and boxes.
//!
//! Draws in Unicode and in roles; `plain` replaces what a terminal cannot show. All text is sanitised here, so that
//! control characters in names do not reach the terminal.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Borders, Clear, Paragraph, Tabs, Widget as _},
};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::output::clean_line;

/// The role of a text, which decides its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Text,
    /// Dim instead of a dark color, because dark colors are invisible on some terminals.
    Muted,
    Accent,
    Ok,
    Warn,
    Error,
    /// The mark of a production system. Themes do not change its color.
    Production,
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
            Self::Production => plain.fg(Color::Magenta).add_modifier(Modifier::BOLD),
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

/// Returns the length of the beginning of `text` that fits into `room` cells, in bytes.
pub(crate) fn fitting_bytes(text: &str, room: u16) -> usize {
    let mut used = 0;
    let hidden = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > usize::from(room)
    });
    hidden.map_or(text.len(), |(at, _)| at)
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

/// Writes lines from the top of `area`; each line is truncated to its width.
pub(crate) fn lines(buf: &mut Buffer, area: Rect, lines: impl IntoIterator<Item = (Role, String)>) {
    let shown = lines.into_iter().take(usize::from(area.height));
    let shown = shown.map(|(role, line)| Line::styled(fit(&line, area.width), role.style()));
    Paragraph::new(shown.collect::<Vec<_>>()).render(area, buf);
}

/// Writes at the right end of the first row of `area`. Returns the number of cells used.
pub(crate) fn fit_left(buf: &mut Buffer, area: Rect, what: &str, role: Role) -> u16 {
    let shown = fit(what, area.width);
    let cells = width(&shown).min(area.width);
    text(buf, Rect { x: area.right() - cells, width: cells, ..area }, &shown, role);
    cells
}

/// Writes into the middle of the first row of `area`.
pub(crate) fn centered(buf: &mut Buffer, area: Rect, what: &str, role: Role) {
    let shown = fit(what, area.width);
    let before = (area.width - width(&shown).min(area.width)) / 2;
    text(buf, Rect { x: area.x + before, width: area.width - before, ..area }, &shown, role);
}

/// Draws labels beside each other with `gap` cells between them, and highlights one. Returns the rest of the row.
pub(crate) fn tab_row<T: AsRef<str>>(
    buf: &mut Buffer,
    row: Rect,
    labels: impl IntoIterator<Item = T>,
    highlighted: Option<usize>,
    gap: u16,
) -> Rect {
    let mut left = row;
    let mut titles = Vec::new();
    for label in labels {
        if left.width == 0 {
            break;
        }
        let title = fit(label.as_ref(), left.width);
        let used = (width(&title) + gap).min(left.width);
        left = Rect { x: left.x + used, width: left.width - used, ..left };
        titles.push(title);
    }
    let tabs = Tabs::new(titles).select(highlighted).highlight_style(Role::Selected.style());
    tabs.padding("", "").divider(" ".repeat(usize::from(gap))).render(row, buf);
    left
}

/// Returns the area below the first `rows` rows of `area`.
pub(crate) fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// Returns a title for a border, as wide as fits beside the corners.
fn border_title(title: &str, room: u16) -> Line<'static> {
    let title = if title.is_empty() { String::new() } else { fit(&format!(" {title} "), room) };
    let border = if title.is_empty() { "" } else { "─" };
    Line::from(vec![Span::styled(border, Role::Muted.style()), Span::styled(title, Role::Title.style())])
}

/// Draws a horizontal rule with a title in the first row of `area`.
pub(crate) fn rule(buf: &mut Buffer, area: Rect, title: &str) {
    let mut title = border_title(title, area.width.saturating_sub(4));
    if title.width() > 0 {
        // A box has a corner here.
        title.spans.insert(0, Span::styled("─", Role::Muted.style()));
    }
    let row = Rect { height: area.height.min(1), ..area };
    Block::new().borders(Borders::TOP).border_style(Role::Muted.style()).title(title).render(row, buf);
}

/// Draws a vertical rule in the first column of `area`.
pub(crate) fn vertical_rule(buf: &mut Buffer, area: Rect) {
    Block::new().borders(Borders::LEFT).border_style(Role::Muted.style()).render(area, buf);
}

/// Draws an empty box with a border in the middle of `area`. Returns its inner area.
pub(crate) fn boxed(buf: &mut Buffer, area: Rect, wide: u16, high: u16, title: &str) -> Rect {
    let (wide, high) = (wide.min(area.width), high.min(area.height));
    let frame =
        Rect { x: area.x + (area.width - wide) / 2, y: area.y + (area.height - high) / 2, width: wide, height: high };
    if wide < 4 || high < 3 {
        return Rect::ZERO;
    }
    Clear.render(frame, buf);
    Block::bordered().border_style(Role::Muted.style()).title(border_title(title, wide - 4)).render(frame, buf);
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
    fn text_is_truncated_wrapped_and_padded_to_a_width_in_cells() {
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
        assert_eq!((fitting_bytes("日本語", 5), fitting_bytes("ab", 2), fitting_bytes("ab", 0)), (6, 2, 0));
    }
}
