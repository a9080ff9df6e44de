//! How cells become bytes.
//!
//! Owns the escape sequences of a frame: the short colour codes of the sixteen palette colours, one
//! merged attribute sequence a change, relative moves, and nothing at all when nothing changed. A
//! frame is one write. Knows no theme: colours that are not to be shown are gone before.

use std::io::{self, Write};

use ratatui::{
    backend::{Backend, ClearType, WindowSize},
    buffer::Cell,
    layout::{Position, Size},
    style::{Color, Modifier},
};
use unicode_width::UnicodeWidthStr as _;

/// What a cell looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

/// Writes frames to `W`, which stands for a terminal of `size`.
#[derive(Debug)]
pub(crate) struct Wire<W: Write> {
    out: W,
    buffer: Vec<u8>,
    look: Look,
    /// Where the terminal's cursor is, as far as that is certain.
    at: Option<Position>,
    shown: bool,
    /// Whether the terminal is told where a frame begins and ends.
    sync: bool,
    size: fn() -> io::Result<Size>,
}

impl<W: Write> Wire<W> {
    /// A terminal whose cursor is hidden and whose attributes are reset.
    pub(crate) fn new(out: W, size: fn() -> io::Result<Size>) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(16 << 10),
            look: Look::default(),
            at: None,
            shown: false,
            sync: false,
            size,
        }
    }

    /// Tells the terminal where a frame begins and ends, so that it shows no half of one.
    pub(crate) fn in_sync(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }

    fn put(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    fn go(&mut self, to: Position) {
        let text = match self.at {
            Some(at) if at == to => return,
            Some(at) if at.y == to.y && to.x > at.x => match to.x - at.x {
                1 => "\x1b[C".to_owned(),
                by => format!("\x1b[{by}C"),
            },
            _ => format!("\x1b[{};{}H", to.y + 1, to.x + 1),
        };
        self.put(&text);
        self.at = Some(to);
    }

    fn wear(&mut self, look: Look) {
        if look == self.look {
            return;
        }
        let mut codes: Vec<String> = Vec::new();
        // Attributes cannot be taken away one by one on every terminal.
        if !look.modifier.contains(self.look.modifier) {
            codes.push(String::new());
            self.look = Look::default();
        }
        let added = look.modifier - self.look.modifier;
        codes.extend(ATTRIBUTES.iter().filter(|(one, _)| added.contains(*one)).map(|(_, code)| (*code).to_owned()));
        if look.fg != self.look.fg {
            codes.push(color(look.fg, 30));
        }
        if look.bg != self.look.bg {
            codes.push(color(look.bg, 40));
        }
        self.look = look;
        let text = format!("\x1b[{}m", codes.join(";"));
        self.put(&text);
    }
}

const ATTRIBUTES: [(Modifier, &str); 5] = [
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::REVERSED, "7"),
];

/// `base` is 30 for text and 40 for what is behind it.
fn color(color: Color, base: u8) -> String {
    let plain = |n: u8| (base + n).to_string();
    let bright = |n: u8| (base + 60 + n).to_string();
    match color {
        Color::Reset => plain(9),
        Color::Black => plain(0),
        Color::Red => plain(1),
        Color::Green => plain(2),
        Color::Yellow => plain(3),
        Color::Blue => plain(4),
        Color::Magenta => plain(5),
        Color::Cyan => plain(6),
        Color::Gray => plain(7),
        Color::DarkGray => bright(0),
        Color::LightRed => bright(1),
        Color::LightGreen => bright(2),
        Color::LightYellow => bright(3),
        Color::LightBlue => bright(4),
        Color::LightMagenta => bright(5),
        Color::LightCyan => bright(6),
        Color::White => bright(7),
        Color::Indexed(n) => format!("{};5;{n}", base + 8),
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
    }
}

impl<W: Write> Backend for Wire<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut content = content.peekable();
        if content.peek().is_some() && self.shown {
            // A cursor that jumps over the screen while it is written to is what people see.
            self.hide_cursor()?;
        }
        for (x, y, cell) in content {
            self.go(Position { x, y });
            self.wear(Look { fg: cell.fg, bg: cell.bg, modifier: cell.modifier });
            let symbol = cell.symbol();
            self.put(symbol);
            let width = u16::try_from(symbol.width()).unwrap_or(1);
            // What terminals do at the right edge differs, and so does the width of odd characters.
            let edge = (self.size)().map_or(0, |size| size.width);
            let plain = symbol.is_ascii() || symbol.chars().all(|c| matches!(c, '\u{2500}'..='\u{25ff}' | '…'));
            self.at = (plain && x + width < edge).then_some(Position { x: x + width, y });
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.shown) {
            self.put("\x1b[?25l");
        }
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.shown, true) {
            self.put("\x1b[?25h");
        }
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.at.unwrap_or_default())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.go(position.into());
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.wear(Look::default());
        self.put("\x1b[H\x1b[2J");
        self.at = Some(Position::ORIGIN);
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        (self.size)()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if self.sync {
            self.buffer.splice(..0, *b"\x1b[?2026h");
            self.buffer.extend_from_slice(b"\x1b[?2026l");
        }
        let written = self.out.write_all(&self.buffer).and_then(|()| self.out.flush());
        self.buffer.clear();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::{Terminal, style::Style};

    #[expect(clippy::unnecessary_wraps, reason = "a terminal may not know its size")]
    fn eighty() -> io::Result<Size> {
        Ok(Size::new(80, 24))
    }

    fn terminal() -> Terminal<Wire<Vec<u8>>> {
        Terminal::new(Wire::new(Vec::new(), eighty)).unwrap()
    }

    fn bytes(terminal: &mut Terminal<Wire<Vec<u8>>>) -> Vec<u8> {
        std::mem::take(&mut terminal.backend_mut().out)
    }

    fn red(frame: &mut ratatui::Frame) {
        frame.buffer_mut().set_string(3, 2, "text", Style::new().red());
    }

    #[test]
    fn a_frame_that_changed_nothing_is_no_byte() {
        let mut terminal = terminal();
        for _ in 0..2 {
            terminal.draw(red).unwrap();
        }
        let first = bytes(&mut terminal);
        assert!(!first.is_empty());
        terminal.draw(red).unwrap();
        assert_eq!(bytes(&mut terminal), b"");
    }

    #[test]
    fn a_terminal_shows_what_was_drawn() {
        let mut terminal = terminal();
        let mut parser = vt100::Parser::default();
        let frames: [&[(u16, u16, &str, Style)]; 2] = [
            &[(0, 0, "tabs", Style::new().reversed()), (5, 0, "日本", Style::new()), (79, 3, "x", Style::new().red())],
            &[(0, 0, "tubs", Style::new()), (9, 0, "é", Style::new().dim()), (0, 4, "y", Style::new().bold().cyan())],
        ];
        for texts in frames {
            terminal
                .draw(|frame| {
                    for (x, y, text, style) in texts {
                        frame.buffer_mut().set_string(*x, *y, *text, *style);
                    }
                })
                .unwrap();
            parser.process(&bytes(&mut terminal));
            let screen = parser.screen();
            for (x, y, text, style) in texts {
                let cell = screen.cell(*y, *x).unwrap();
                assert!(text.starts_with(cell.contents()), "{text}: {}", cell.contents());
                assert_eq!(cell.inverse(), style.add_modifier.contains(Modifier::REVERSED), "{text}");
                assert_eq!(cell.bold(), style.add_modifier.contains(Modifier::BOLD), "{text}");
            }
        }
        assert_eq!(parser.screen().rows(0, 80).next().unwrap(), "tubs     é");
    }
}
