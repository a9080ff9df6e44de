//! Styles of cells, and the escape sequences that change from one style to another.

use ratatui::{
    buffer::Cell,
    style::{Color, Modifier},
};

/// The style of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CellStyle {
    pub(super) fg: Color,
    pub(super) bg: Color,
    pub(super) modifier: Modifier,
}

impl CellStyle {
    /// Returns the visible style: the text color and weight of a blank are ignored.
    pub(super) fn of(cell: &Cell) -> Self {
        let look = Self { fg: cell.fg, bg: cell.bg, modifier: cell.modifier };
        if cell.symbol() == " " && look.is_invisible() { Self::default() } else { look }
    }

    /// Returns whether a blank with this style is empty space.
    pub(super) fn is_invisible(self) -> bool {
        self.bg == Color::Reset && !self.modifier.intersects(Modifier::REVERSED | Modifier::UNDERLINED)
    }

    /// Returns the sequence that changes from the style `before` to this one, if one is needed.
    pub(super) fn after(self, before: Self) -> Option<String> {
        if self == before {
            return None;
        }
        let mut codes: Vec<String> = Vec::new();
        // Not every terminal can reset attributes one by one.
        let reset = !self.modifier.contains(before.modifier);
        let before = if reset { Self::default() } else { before };
        codes.extend(reset.then(String::new));
        let added = self.modifier - before.modifier;
        codes.extend(ATTRIBUTES.iter().filter(|(one, _)| added.contains(*one)).map(|(_, code)| (*code).to_owned()));
        if self.fg != before.fg {
            codes.push(color(self.fg, 30));
        }
        if self.bg != before.bg {
            codes.push(color(self.bg, 40));
        }
        Some(format!("\x1b[{}m", codes.join(";")))
    }
}

const ATTRIBUTES: [(Modifier, &str); 5] = [
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::REVERSED, "7"),
];

/// `base` is 30 for text and 40 for the background.
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
