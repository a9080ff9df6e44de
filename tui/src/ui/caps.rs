//! Determines the capabilities of the terminal before it is acquired.
//!
//! Pure: the environment is an argument. Covers only capabilities that change the drawing.

use std::{ffi::OsString, str::FromStr};

use super::theme::Theme;

/// Supported colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Colors {
    Never,
    /// The sixteen palette colors that every terminal has.
    #[default]
    Palette,
    /// 256 colors.
    Many,
    /// 24-bit colors.
    True,
}

/// The value of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColorMode {
    Auto,
    Only(Colors),
}

impl FromStr for ColorMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "auto" => Self::Auto,
            "never" | "false" => Self::Only(Colors::Never),
            "16" | "always" => Self::Only(Colors::Palette),
            "256" => Self::Only(Colors::Many),
            "true" => Self::Only(Colors::True),
            _ => return Err("must be one of never, 16, 256, true, auto".to_owned()),
        })
    }
}

/// The character set for drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glyphs {
    Unicode,
    Ascii,
}

/// Options from flags and the configuration file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AppearanceOptions {
    pub(crate) ascii: bool,
    pub(crate) unicode: bool,
    /// No colors, even if the terminal supports them.
    pub(crate) mono: bool,
    pub(crate) flag: Option<ColorMode>,
    pub(crate) file: Option<ColorMode>,
}

/// Colors, characters and theme of all drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Appearance {
    pub(crate) colors: Colors,
    pub(crate) glyphs: Glyphs,
    pub(crate) theme: Theme,
}

impl Appearance {
    /// Determines the appearance. Precedence: flag, `FARRIER_COLOR`, configuration file, `NO_COLOR`, capabilities of
    /// the terminal.
    pub(crate) fn of(options: AppearanceOptions, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let own = || text("FARRIER_COLOR")?.parse().ok();
        let mode = options.flag.or_else(own).or(options.file).unwrap_or(ColorMode::Auto);
        let term = text("TERM").unwrap_or_default();
        // GNU screen before version 5 reads the parts of a 24-bit color as attributes, and its windows inherit the
        // variable from the outer terminal. In tmux, which understands these colors, TERM can have the same name.
        let is_gnu_screen = term.starts_with("screen") && text("TMUX").is_none();
        let is_true = text("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit");
        let colors = match mode {
            _ if options.mono => Colors::Never,
            ColorMode::Only(colors) => colors,
            ColorMode::Auto if text("NO_COLOR").is_some() => Colors::Never,
            ColorMode::Auto if is_true && !is_gnu_screen => Colors::True,
            ColorMode::Auto if term.contains("256") => Colors::Many,
            ColorMode::Auto => Colors::Palette,
        };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(text).unwrap_or_default();
        let utf8 = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
        let unicode = !options.ascii && (options.unicode || utf8 && term != "linux");
        Self { colors, glyphs: if unicode { Glyphs::Unicode } else { Glyphs::Ascii }, theme: Theme::default() }
    }
}

/// Returns whether a terminal of this name supports the full screen.
pub(crate) fn full_screen(term: Option<OsString>) -> bool {
    term.is_some_and(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(options: AppearanceOptions, set: &[(&str, &str)]) -> (Colors, bool) {
        let look = Appearance::of(options, |name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(*value))
        });
        (look.colors, look.glyphs == Glyphs::Unicode)
    }

    #[test]
    fn gnu_screen_gets_no_24_bit_colors_of_the_outer_terminal() {
        use Colors::{Many, Palette, True};
        let outer = |term: &'static str| [("LANG", "C.UTF-8"), ("COLORTERM", "truecolor"), ("TERM", term)];
        let plain = AppearanceOptions::default();
        for (term, expected) in [("screen", Palette), ("screen-256color", Many), ("screen.xterm-256color", Many)] {
            assert_eq!(look(plain, &outer(term)), (expected, true), "{term}");
            assert!(full_screen(Some(term.into())), "{term}");
        }
        // tmux, whose default name was `screen` until version 3.5; and mosh, which does not forward COLORTERM.
        let tmux = [outer("screen-256color").as_slice(), &[("TMUX", "/tmp/tmux,1,0")]].concat();
        assert_eq!(look(plain, &tmux).0, True);
        assert_eq!(look(plain, &[("TERM", "xterm-256color")]).0, Many);
        // GNU screen 5 understands them.
        let asked = AppearanceOptions { flag: "true".parse().ok(), ..plain };
        assert_eq!(look(asked, &outer("screen-256color")).0, True);
    }

    #[test]
    fn color_precedence_is_flag_then_variable_then_file_then_terminal() {
        use Colors::{Many, Never, Palette, True};
        let plain = AppearanceOptions::default();
        assert_eq!(look(plain, &[("LANG", "C.utf8"), ("TERM", "xterm")]), (Palette, true));
        assert_eq!(look(plain, &[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]), (Palette, false));
        assert_eq!(look(plain, &[("LANG", "de_DE.UTF-8"), ("TERM", "linux")]), (Palette, false));
        assert_eq!(look(plain, &[("TERM", "tmux-256color")]).0, Many);
        assert_eq!(look(plain, &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]).0, True);
        assert_eq!(look(plain, &[("NO_COLOR", "1"), ("COLORTERM", "24bit")]), (Never, false));
        assert_eq!(look(plain, &[("NO_COLOR", "1"), ("FARRIER_COLOR", "always")]), (Palette, false));
        let flag = AppearanceOptions { ascii: true, flag: "never".parse().ok(), ..plain };
        assert_eq!(look(flag, &[("LANG", "C.UTF-8"), ("FARRIER_COLOR", "256")]), (Never, false));
        let file = AppearanceOptions { file: "256".parse().ok(), ..plain };
        assert_eq!(look(file, &[("NO_COLOR", "1")]).0, Many);
        assert_eq!(look(file, &[("FARRIER_COLOR", "16")]).0, Palette);
        assert_eq!(look(AppearanceOptions { mono: true, ..file }, &[]).0, Never);
        assert!("pink".parse::<ColorMode>().is_err());
        assert!(!full_screen(None) && !full_screen(Some("dumb".into())) && full_screen(Some("xterm".into())));
    }
}
