//! What a picture becomes on this terminal: its theme, and what is left of it where less is shown.
//!
//! The last step of every frame: without colours every cell keeps only its attributes; without
//! Unicode every character has a counterpart of one cell. So no screen must think of either.

use ratatui::buffer::{Buffer, Cell};

use super::width;
use crate::ui::{
    caps::{Appearance, Colors, Glyphs},
    theme::Theme,
};

pub(super) fn reduce(look: Appearance, buf: &mut Buffer) {
    let themed = look.theme != Theme::default() || look.colors == Colors::Never;
    if !themed && look.glyphs == Glyphs::Unicode {
        return;
    }
    if look.glyphs == Glyphs::Ascii {
        buf.content.chunks_mut(usize::from(buf.area.width.max(1))).for_each(spell);
    }
    if themed {
        for cell in &mut buf.content {
            look.theme.apply(cell, look.colors);
        }
    }
}

/// Puts the counterpart of every character of a row in its place.
fn spell(row: &mut [Cell]) {
    for at in 0..row.len() {
        let symbol = row[at].symbol();
        if symbol.is_ascii() {
            continue;
        }
        let (plain, cells) = (counterpart(symbol), usize::from(width(symbol).max(1)));
        row[at].set_symbol(plain);
        // What a wide character covered is seen now.
        let seen = row[at].clone();
        row.iter_mut().skip(at).take(cells).for_each(|cell| *cell = seen.clone());
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
