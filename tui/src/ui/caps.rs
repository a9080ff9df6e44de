//! What the terminal can do, decided before it is touched.
//!
//! Pure: the environment is an argument. Only what changes the picture is decided here.

use std::ffi::OsString;

/// Which colours are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colors {
    Never,
    Palette,
}

/// Which characters are drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glyphs {
    Unicode,
    Ascii,
}

/// What flags say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) ascii: bool,
    pub(crate) colors: Option<bool>,
}

/// The look of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) colors: Colors,
    pub(crate) glyphs: Glyphs,
}

impl Look {
    /// Flags come before `FARRIER_COLOR`, that before `NO_COLOR`, that before the terminal's name.
    pub(crate) fn of(wishes: Wishes, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let colored = wishes.colors.or_else(|| match text("FARRIER_COLOR")?.as_str() {
            "never" => Some(false),
            "auto" => None,
            _ => Some(true),
        });
        let colored = colored.unwrap_or_else(|| text("NO_COLOR").is_none());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(text).unwrap_or_default();
        let utf8 = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
        let unicode = !wishes.ascii && utf8 && text("TERM").as_deref() != Some("linux");
        Self {
            colors: if colored { Colors::Palette } else { Colors::Never },
            glyphs: if unicode { Glyphs::Unicode } else { Glyphs::Ascii },
        }
    }
}

/// Whether a terminal of this name can show a full screen at all.
pub(crate) fn full_screen(term: Option<OsString>) -> bool {
    term.is_some_and(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(wishes: Wishes, set: &'static [(&str, &str)]) -> (bool, bool) {
        let look =
            Look::of(wishes, |name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(*value)));
        (look.colors == Colors::Palette, look.glyphs == Glyphs::Unicode)
    }

    #[test]
    fn flags_then_own_variable_then_the_rest() {
        let plain = Wishes::default();
        assert_eq!(look(plain, &[("LANG", "C.utf8"), ("TERM", "xterm")]), (true, true));
        assert_eq!(look(plain, &[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]), (true, false));
        assert_eq!(look(plain, &[("LANG", "de_DE.UTF-8"), ("TERM", "linux")]), (true, false));
        assert_eq!(look(plain, &[("NO_COLOR", "1")]), (false, false));
        assert_eq!(look(plain, &[("NO_COLOR", "1"), ("FARRIER_COLOR", "always")]), (true, false));
        assert_eq!(look(Wishes { ascii: true, colors: Some(false) }, &[("LANG", "C.UTF-8")]), (false, false));
        assert!(!full_screen(None) && !full_screen(Some("dumb".into())) && full_screen(Some("xterm".into())));
    }
}
