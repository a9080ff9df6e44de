//! What a picture becomes on this terminal: its theme, and what is left of it where less is shown.
//!
//! The last step of every frame: without colours every cell keeps only its attributes; without
//! Unicode every character has a counterpart of one cell. So no screen must think of either.

use ratatui::buffer::Buffer;

use crate::ui::{
    caps::{Colors, Glyphs, Look},
    theme::Theme,
};

pub(super) fn reduce(look: Look, buf: &mut Buffer) {
    let themed = look.theme != Theme::default() || look.colors == Colors::Never;
    if !themed && look.glyphs == Glyphs::Unicode {
        return;
    }
    for cell in &mut buf.content {
        if themed {
            look.theme.apply(cell, look.colors);
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
        "│" | "▆" | "▇" => "|",
        "┌" | "┐" | "└" | "┘" | "├" | "┤" | "┬" | "┴" => "+",
        "█" => "#",
        "▁" | "▂" | "·" => ".",
        "▃" | "▄" | "▅" => ":",
        "…" => "~",
        "▲" => "^",
        "▸" => ">",
        "▼" | "▾" => "v",
        "•" => "*",
        _ => "?",
    }
}
