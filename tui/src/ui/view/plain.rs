//! What is left of a picture on a terminal that shows less.
//!
//! The last step of every frame: without colours every cell keeps only its attributes; without
//! Unicode every character has a counterpart of one cell. So no screen must think of either.

use ratatui::{buffer::Buffer, style::Color};

use crate::ui::caps::{Colors, Glyphs, Look};

pub(super) fn reduce(look: Look, buf: &mut Buffer) {
    if look == (Look { colors: Colors::Palette, glyphs: Glyphs::Unicode }) {
        return;
    }
    for cell in &mut buf.content {
        if look.colors == Colors::Never {
            cell.set_fg(Color::Reset).set_bg(Color::Reset);
        }
        if look.glyphs == Glyphs::Ascii && !cell.symbol().is_ascii() {
            let plain = counterpart(cell.symbol());
            cell.set_symbol(plain);
        }
    }
}

fn counterpart(symbol: &str) -> &'static str {
    match symbol {
        "─" => "-",
        "│" => "|",
        "┌" | "┐" | "└" | "┘" | "├" | "┤" | "┬" | "┴" => "+",
        "█" => "#",
        "·" => ".",
        "…" => "~",
        "▲" => "^",
        "▸" => ">",
        "▼" | "▾" => "v",
        "•" => "*",
        _ => "?",
    }
}
