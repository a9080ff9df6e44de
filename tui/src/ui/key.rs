//! Keys that this program supports.
//!
//! Owns their names on the screen. No binding needs Alt or more than one key at a time.

/// A key press.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

impl Key {
    /// Parses the name of a key: `R`, `f5`, `ctrl-d` or `C-d`, `enter`, `space`, `pgup`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut chars = text.chars();
        if let (Some(one), None) = (chars.next(), chars.next()) {
            return Some(Self::Char(one));
        }
        let lower = text.to_ascii_lowercase();
        if let Some(rest) = lower.strip_prefix("ctrl-").or_else(|| lower.strip_prefix("c-")) {
            let mut letters = rest.chars();
            return match (letters.next(), letters.next()) {
                (Some(letter), None) => Some(Self::Ctrl(letter)),
                _ => None,
            };
        }
        Some(match lower.as_str() {
            "space" => Self::Char(' '),
            "enter" => Self::Enter,
            "esc" => Self::Esc,
            "tab" => Self::Tab,
            "s-tab" | "shift-tab" => Self::BackTab,
            "backspace" => Self::Backspace,
            "delete" => Self::Delete,
            "up" => Self::Up,
            "down" => Self::Down,
            "left" => Self::Left,
            "right" => Self::Right,
            "home" => Self::Home,
            "end" => Self::End,
            "pgup" => Self::PageUp,
            "pgdn" => Self::PageDown,
            _ => Self::F(lower.strip_prefix('f')?.parse().ok().filter(|n| (1..=12).contains(n))?),
        })
    }

    /// Returns its name in hints and help.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Char(' ') => "Space".to_owned(),
            Self::Char(c) => c.to_string(),
            Self::Ctrl(c) => format!("C-{c}"),
            Self::BackTab => "S-Tab".to_owned(),
            Self::PageUp => "PgUp".to_owned(),
            Self::PageDown => "PgDn".to_owned(),
            Self::F(n) => format!("F{n}"),
            other => format!("{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_are_parsed_and_unknown_names_are_refused() {
        let keys = [Key::Char('R'), Key::Char(' '), Key::Ctrl('d'), Key::Enter, Key::BackTab, Key::PageUp, Key::F(5)];
        for key in keys {
            assert_eq!(Key::parse(&key.name()), Some(key));
        }
        assert_eq!((Key::parse("ctrl-x"), Key::parse("F12")), (Some(Key::Ctrl('x')), Some(Key::F(12))));
        for none in ["", "ctrl-", "f0", "f13", "meta-x", "RR"] {
            assert_eq!(Key::parse(none), None, "{none}");
        }
    }
}
