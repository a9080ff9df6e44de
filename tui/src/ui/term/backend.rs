//! Converts cells to bytes for the terminal.
//!
//! Owns the escape sequences of a frame: the short codes of the sixteen palette colors, one merged attribute
//! sequence per change, relative moves, and no output for unchanged cells. A frame is one write. Themes and missing
//! colors are applied before.

use std::io::{self, Write};

use crossterm::{
    cursor::{Hide, MoveRight, MoveTo, Show},
    queue,
    terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate},
};
use ratatui::{
    backend::{self, Backend, WindowSize},
    buffer::{Buffer, Cell},
    layout::{Position, Rect, Size},
};
use unicode_width::UnicodeWidthStr as _;

use super::look::CellStyle;

fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && CellStyle::of(cell) == CellStyle::default()
}

/// Writes frames to `W`, a terminal of size `size`.
#[derive(Debug)]
pub(crate) struct AnsiBackend<W: Write> {
    out: W,
    buffer: Vec<u8>,
    /// The cells that the terminal shows.
    seen: Buffer,
    look: CellStyle,
    /// The position of the terminal's cursor, if it is certain.
    at: Option<Position>,
    shown: bool,
    /// Whether bytes were written since the last question about it.
    wrote: bool,
    /// Whether frames are sent as synchronized updates.
    sync: bool,
    size: fn() -> io::Result<Size>,
}

impl<W: Write> AnsiBackend<W> {
    /// Creates a backend for a terminal with a hidden cursor and reset attributes.
    pub(crate) fn new(out: W, size: fn() -> io::Result<Size>) -> Self {
        let (buffer, seen) = (Vec::with_capacity(16 << 10), Buffer::empty(Rect::ZERO));
        Self { out, buffer, seen, look: CellStyle::default(), at: None, shown: false, wrote: false, sync: false, size }
    }

    /// Turns synchronized updates on or off, which prevent partially drawn frames.
    pub(crate) fn sync(&mut self, sync: bool) {
        self.sync = sync;
    }

    /// Returns whether bytes were written since the last call.
    pub(crate) fn take_wrote(&mut self) -> bool {
        std::mem::take(&mut self.wrote)
    }

    fn put(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// Stores the new cells and returns those that differ from what the terminal shows.
    fn changed<'a>(&mut self, content: impl Iterator<Item = (u16, u16, &'a Cell)>) -> Vec<Position> {
        let mut changed = Vec::new();
        for (x, y, cell) in content {
            let Some(seen) = self.seen.cell_mut((x, y)) else { continue };
            if seen.symbol() == cell.symbol() && CellStyle::of(seen) == CellStyle::of(cell) {
                continue;
            }
            *seen = cell.clone();
            changed.push(Position { x, y });
            let width = u16::try_from(cell.symbol().width()).unwrap_or(1);
            for behind in 1..width {
                if let Some(half) = self.seen.cell_mut((x + behind, y)) {
                    // Neither text nor a blank: the second cell of a wide character.
                    half.set_symbol("");
                }
            }
            if let Some(half) = self.seen.cell_mut((x + width.max(1), y)).filter(|cell| cell.symbol().is_empty()) {
                // Its other half was overwritten; terminals differ in what they show there.
                half.reset();
                changed.push(Position { x: x + width.max(1), y });
            }
        }
        changed.dedup();
        changed
    }

    /// Returns the first column of a row after which the row is empty.
    fn text_end(&self, y: u16) -> u16 {
        let text = (0..self.seen.area.width).rfind(|x| self.seen.cell((*x, y)).is_some_and(|cell| !is_blank(cell)));
        text.map_or(0, |x| x + 1)
    }

    /// Writes the cell at `to`.
    fn show(&mut self, to: Position) -> io::Result<()> {
        let Some(cell) = self.seen.cell(to).cloned() else { return Ok(()) };
        let mut look = CellStyle::of(&cell);
        if is_blank(&cell) && self.look.is_invisible() {
            look = self.look;
        }
        if !self.bridge(to, look) {
            self.go(to)?;
        }
        self.wear(look);
        let symbol = cell.symbol();
        self.put(symbol);
        let width = u16::try_from(symbol.width()).unwrap_or(1);
        // Terminals differ at the right edge and in the width of unusual characters.
        let plain = symbol.is_ascii() || symbol.chars().all(|c| matches!(c, '\u{2500}'..='\u{25ff}' | '…'));
        let edge = self.seen.area.width;
        self.at = (plain && to.x + width < edge).then_some(Position { x: to.x + width, y: to.y });
        Ok(())
    }

    /// Moves a short distance by rewriting the cells, which takes fewer bytes than a cursor move.
    fn bridge(&mut self, to: Position, next: CellStyle) -> bool {
        let Some(at) = self.at.filter(|at| at.y == to.y && (1..=3).contains(&to.x.saturating_sub(at.x))) else {
            return false;
        };
        let between: Vec<&Cell> = (at.x..to.x).filter_map(|x| self.seen.cell((x, at.y))).collect();
        let fits = |look: CellStyle| {
            let alike = |cell: &&Cell| CellStyle::of(cell) == look || is_blank(cell) && look.is_invisible();
            between.iter().all(|cell| cell.symbol().len() == 1) && between.iter().all(alike)
        };
        let worn = [self.look, next].into_iter().find(|look| fits(*look));
        let text: String = between.iter().map(|cell| cell.symbol()).collect();
        let Some(look) = worn else { return false };
        self.wear(look);
        self.put(&text);
        self.at = Some(to);
        true
    }

    fn go(&mut self, to: Position) -> io::Result<()> {
        match self.at {
            Some(at) if at == to => return Ok(()),
            Some(at) if at.y == to.y && to.x > at.x => queue!(self.buffer, MoveRight(to.x - at.x))?,
            _ => queue!(self.buffer, MoveTo(to.x, to.y))?,
        }
        self.at = Some(to);
        Ok(())
    }

    fn wear(&mut self, look: CellStyle) {
        if let Some(codes) = look.after(self.look) {
            self.put(&codes);
            self.look = look;
        }
    }
}

impl<W: Write> Backend for AnsiBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        if self.seen.area.is_empty() {
            self.seen = Buffer::empty(Rect::from((Position::ORIGIN, self.size()?)));
        }
        let changed = self.changed(content);
        if !changed.is_empty() {
            // The cursor is hidden during output, because a jumping cursor is visible.
            self.hide_cursor()?;
        }
        for row in changed.chunk_by(|one, next| one.y == next.y) {
            let end = self.text_end(row[0].y);
            let (text, rest) = row.split_at(row.partition_point(|at| at.x < end));
            for at in text {
                self.show(*at)?;
            }
            match rest {
                [first, .., _] => {
                    self.go(*first)?;
                    self.wear(CellStyle::default());
                    queue!(self.buffer, Clear(ClearType::UntilNewLine))?;
                }
                few => {
                    for at in few {
                        self.show(*at)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.shown) {
            queue!(self.buffer, Hide)?;
        }
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.shown, true) {
            queue!(self.buffer, Show)?;
        }
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.at.unwrap_or_default())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.go(position.into())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.wear(CellStyle::default());
        queue!(self.buffer, MoveTo(0, 0), Clear(ClearType::All))?;
        self.at = Some(Position::ORIGIN);
        self.seen = Buffer::empty(Rect::from((Position::ORIGIN, self.size()?)));
        Ok(())
    }

    fn clear_region(&mut self, _: backend::ClearType) -> io::Result<()> {
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
        self.wrote = true;
        if self.sync {
            let mut begin = Vec::new();
            queue!(begin, BeginSynchronizedUpdate)?;
            self.buffer.splice(..0, begin);
            queue!(self.buffer, EndSynchronizedUpdate)?;
        }
        let written = self.out.write_all(&self.buffer).and_then(|()| self.out.flush());
        self.buffer.clear();
        written
    }
}

#[cfg(test)]
mod tests;
