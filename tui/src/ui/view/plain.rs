//! Adapts a finished frame to the terminal: applies the theme and reduces colors and characters.
//!
//! This is the last step of every frame. Without colors, cells keep only their attributes; without Unicode, every
//! character is replaced by an ASCII character of one cell. So the screens need not handle either case.

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

/// Replaces every character of a row by its ASCII counterpart.
fn spell(row: &mut [Cell]) {
    for at in 0..row.len() {
        let symbol = row[at].symbol();
        if symbol.is_ascii() {
            continue;
        }
        let (plain, cells) = (counterpart(symbol), usize::from(width(symbol).max(1)));
        row[at].set_symbol(plain);
        // The second cell of a wide character becomes visible.
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
        "▒" => "x",
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
