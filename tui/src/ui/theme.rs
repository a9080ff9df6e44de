//! Color themes.
//!
//! Screens draw roles in the colors of the terminal. A theme replaces these colors in the finished frame, and reduces
//! its own colors to those that the terminal supports.

use ratatui::{
    buffer::Cell,
    style::{Color, Modifier},
};

use super::caps::Colors;

/// The style of one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Paint {
    color: Color,
    more: Modifier,
}

const fn paint(color: Color, more: Modifier) -> Paint {
    Paint { color, more }
}

/// The names of the roles in the configuration.
pub(crate) const ROLES: [&str; 8] = ["text", "muted", "accent", "ok", "warn", "error", "title", "selected"];
const SELECTED: usize = 7;

/// The styles of all roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Theme([Paint; 8]);

/// Built-in themes.
pub(crate) const NAMES: [&str; 9] =
    ["default", "mono", "high-contrast", "light", "dark", "nord", "gruvbox", "solarized", "catppuccin"];

const NONE: Modifier = Modifier::empty();
const BOLD: Modifier = Modifier::BOLD;
const MARKED: Modifier = Modifier::REVERSED.union(Modifier::BOLD);

/// Creates a theme. Text and titles have the terminal's own color; `colors` are those of muted, accent, ok, warn,
/// error.
const fn of(colors: [Color; 5], muted: Modifier, alarm: Modifier) -> Theme {
    Theme([
        paint(Color::Reset, NONE),
        paint(colors[0], muted),
        paint(colors[1], NONE),
        paint(colors[2], NONE),
        paint(colors[3], alarm),
        paint(colors[4], BOLD),
        paint(Color::Reset, BOLD),
        paint(Color::Reset, MARKED),
    ])
}

impl Default for Theme {
    fn default() -> Self {
        of([Color::Reset, Color::Cyan, Color::Green, Color::Yellow, Color::Red], Modifier::DIM, NONE)
    }
}

const fn indexed(numbers: [u8; 5]) -> [Color; 5] {
    let [muted, accent, ok, warn, error] = numbers;
    [Color::Indexed(muted), Color::Indexed(accent), Color::Indexed(ok), Color::Indexed(warn), Color::Indexed(error)]
}

/// Returns colors of which each is a number such as `0xff_5f_5f`.
const fn rgb(numbers: [u32; 5]) -> [Color; 5] {
    let [muted, accent, ok, warn, error] = numbers;
    [
        Color::from_u32(muted),
        Color::from_u32(accent),
        Color::from_u32(ok),
        Color::from_u32(warn),
        Color::from_u32(error),
    ]
}

impl Theme {
    /// Returns the theme of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let bright = [Color::Reset, Color::LightCyan, Color::LightGreen, Color::LightYellow, Color::LightRed];
        Some(match name {
            "default" => Self::default(),
            "mono" => of([Color::Reset; 5], Modifier::DIM, BOLD),
            "high-contrast" => of(bright, NONE, BOLD),
            "light" => of(indexed([240, 25, 28, 130, 160]), NONE, NONE),
            "dark" => of(indexed([246, 80, 114, 221, 203]), NONE, NONE),
            "nord" => of(rgb([0x8a_8f_99, 0x88_c0_d0, 0xa3_be_8c, 0xeb_cb_8b, 0xbf_61_6a]), NONE, NONE),
            "gruvbox" => of(rgb([0x92_83_74, 0x83_a5_98, 0xb8_bb_26, 0xfa_bd_2f, 0xfb_49_34]), NONE, NONE),
            "solarized" => of(rgb([0x83_94_96, 0x26_8b_d2, 0x85_99_00, 0xb5_89_00, 0xdc_32_2f]), NONE, NONE),
            "catppuccin" => of(rgb([0x93_99_ac, 0x89_b4_fa, 0xa6_e3_a1, 0xf9_e2_af, 0xf3_8b_a8]), NONE, NONE),
            _ => return None,
        })
    }

    /// Returns the theme with another color for one role.
    pub(crate) fn with(mut self, role: &str, color: &str) -> Result<Self, String> {
        let at = ROLES.iter().position(|known| *known == role);
        let at = at.ok_or_else(|| format!("unknown role '{role}'; expected one of {}", ROLES.join(", ")))?;
        self.0[at].color = parse(color).ok_or_else(|| {
            format!("invalid color '{color}'; expected a name such as red or bright-red, default, 0 to 255, or #rrggbb")
        })?;
        Ok(self)
    }

    /// Applies the theme to a cell that was drawn in the terminal's own colors.
    pub(crate) fn apply(&self, cell: &mut Cell, colors: Colors) {
        let Some(role) = role(cell) else {
            cell.set_fg(reduced(cell.fg, colors));
            return;
        };
        let Paint { color, more } = self.0[role];
        // Replaces the attributes of the role; those added by a pane, such as an underline, stay.
        let own = Modifier::DIM | BOLD | Modifier::REVERSED;
        let stays = if role == SELECTED { NONE } else { cell.modifier & BOLD };
        cell.modifier = (cell.modifier - own) | more | stays;
        cell.set_fg(reduced(color, colors));
    }
}

/// Returns the role that a cell was drawn in.
fn role(cell: &Cell) -> Option<usize> {
    if cell.modifier.contains(Modifier::REVERSED) {
        return Some(SELECTED);
    }
    Some(match cell.fg {
        Color::Cyan => 2,
        Color::Green => 3,
        Color::Yellow => 4,
        Color::Red => 5,
        Color::Reset if cell.modifier.contains(Modifier::DIM) => 1,
        Color::Reset if cell.modifier.contains(BOLD) => 6,
        Color::Reset => 0,
        _ => return None,
    })
}

const PALETTE: [(&str, Color, (u8, u8, u8)); 16] = [
    ("black", Color::Black, (0, 0, 0)),
    ("red", Color::Red, (205, 0, 0)),
    ("green", Color::Green, (0, 205, 0)),
    ("yellow", Color::Yellow, (205, 205, 0)),
    ("blue", Color::Blue, (0, 0, 238)),
    ("magenta", Color::Magenta, (205, 0, 205)),
    ("cyan", Color::Cyan, (0, 205, 205)),
    ("white", Color::Gray, (229, 229, 229)),
    ("bright-black", Color::DarkGray, (127, 127, 127)),
    ("bright-red", Color::LightRed, (255, 0, 0)),
    ("bright-green", Color::LightGreen, (0, 255, 0)),
    ("bright-yellow", Color::LightYellow, (255, 255, 0)),
    ("bright-blue", Color::LightBlue, (92, 92, 255)),
    ("bright-magenta", Color::LightMagenta, (255, 0, 255)),
    ("bright-cyan", Color::LightCyan, (0, 255, 255)),
    ("bright-white", Color::White, (255, 255, 255)),
];

fn parse(text: &str) -> Option<Color> {
    if text == "default" {
        return Some(Color::Reset);
    }
    if let Some((_, color, _)) = PALETTE.iter().find(|(name, ..)| *name == text) {
        return Some(*color);
    }
    let Some(digits) = text.strip_prefix('#') else { return text.parse().ok().map(Color::Indexed) };
    let bytes = hex::decode(digits).ok().filter(|bytes| bytes.len() == 3)?;
    Some(Color::Rgb(bytes[0], bytes[1], bytes[2]))
}

/// Returns the nearest color that the terminal supports.
fn reduced(color: Color, colors: Colors) -> Color {
    match (color, colors) {
        (_, Colors::Never) => Color::Reset,
        (Color::Rgb(r, g, b), Colors::Many) => {
            let step = |value: u8| (u16::from(value) * 5 + 127) / 255;
            Color::Indexed(u8::try_from(16 + 36 * step(r) + 6 * step(g) + step(b)).unwrap_or(15))
        }
        (Color::Rgb(r, g, b), Colors::Palette) => nearest((r, g, b)),
        (Color::Indexed(at), Colors::Palette) => nearest(value(at)),
        (color, _) => color,
    }
}

/// Returns the RGB value of one of the 256 colors.
fn value(at: u8) -> (u8, u8, u8) {
    let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    match at {
        0..16 => PALETTE[usize::from(at)].2,
        16..232 => (level((at - 16) / 36), level((at - 16) / 6 % 6), level((at - 16) % 6)),
        _ => (8 + 10 * (at - 232), 8 + 10 * (at - 232), 8 + 10 * (at - 232)),
    }
}

/// Returns the nearest of the sixteen colors. Greys become the terminal's own color, which is always readable.
fn nearest((r, g, b): (u8, u8, u8)) -> Color {
    if r.abs_diff(g) < 24 && g.abs_diff(b) < 24 {
        return Color::Reset;
    }
    let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    let far = |(x, y, z): (u8, u8, u8)| square(r, x) + square(g, y) + square(b, z);
    let hues = PALETTE.iter().filter(|(name, ..)| !name.contains("black") && !name.contains("white"));
    hues.min_by_key(|(.., value)| far(*value)).map_or(Color::Reset, |(_, color, _)| *color)
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    fn painted(theme: Theme, style: Style, colors: Colors) -> Cell {
        let mut cell = Cell::default();
        cell.set_style(style);
        theme.apply(&mut cell, colors);
        cell
    }

    #[test]
    fn the_default_theme_changes_nothing() {
        let plain = Style::new();
        for style in [plain, plain.dim(), plain.cyan(), plain.red().bold(), plain.reversed().bold(), plain.underlined()]
        {
            let mut cell = Cell::default();
            cell.set_style(style);
            assert_eq!(painted(Theme::default(), style, Colors::Palette), cell, "{style:?}");
        }
    }

    #[test]
    fn the_color_of_production_is_the_same_in_every_theme_and_left_out_without_colors() {
        let style = Style::new().magenta().bold();
        for name in NAMES {
            let theme = Theme::named(name).unwrap();
            assert_eq!(painted(theme, style, Colors::True).fg, Color::Magenta, "{name}");
            assert_eq!(painted(theme, style, Colors::Never).fg, Color::Reset, "{name}");
        }
    }

    #[test]
    fn theme_colors_are_reduced_to_those_of_the_terminal() {
        let theme = Theme::named("dark").unwrap().with("ok", "#00ff20").unwrap();
        let green = |colors| painted(theme, Style::new().green(), colors).fg;
        assert_eq!(green(Colors::True), Color::Rgb(0, 255, 32));
        assert_eq!(green(Colors::Many), Color::Indexed(47));
        assert_eq!(green(Colors::Palette), Color::LightGreen);
        assert_eq!(green(Colors::Never), Color::Reset);
        let muted = painted(theme, Style::new().dim(), Colors::Palette);
        assert_eq!((muted.fg, muted.modifier), (Color::Reset, NONE), "gray never becomes black");
        let selected = painted(theme, Style::new().reversed().bold(), Colors::Many);
        assert_eq!((selected.fg, selected.modifier), (Color::Reset, MARKED));
    }

    #[test]
    fn true_color_themes_are_readable_with_sixteen_colors() {
        for name in ["nord", "gruvbox", "solarized", "catppuccin"] {
            let theme = Theme::named(name).unwrap();
            let fg = |style, colors| painted(theme, style, colors).fg;
            assert!(matches!(fg(Style::new().cyan(), Colors::True), Color::Rgb(..)), "{name}");
            assert!(matches!(fg(Style::new().cyan(), Colors::Many), Color::Indexed(16..)), "{name}");
            assert_eq!(fg(Style::new().dim(), Colors::Palette), Color::Reset, "{name}: gray never becomes black");
        }
    }

    #[test]
    fn unknown_themes_roles_and_colors_are_refused() {
        assert!(NAMES.iter().all(|name| Theme::named(name).is_some()) && Theme::named("pink").is_none());
        assert!(Theme::default().with("colour", "red").unwrap_err().contains("expected one of text, muted"));
        assert!(Theme::default().with("ok", "#12345").unwrap_err().contains("#rrggbb"));
        for good in ["red", "bright-blue", "default", "0", "255", "#A0b1c2"] {
            assert!(Theme::default().with("ok", good).is_ok(), "{good}");
        }
        assert!(Theme::default().with("ok", "256").is_err());
    }
}
