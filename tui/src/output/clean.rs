//! Removes control characters from text before it is written to a terminal.
//!
//! Names and messages may come from other users: a name may contain an escape sequence that renames the window,
//! or a character that reverses the text direction.

use std::{borrow::Cow, fmt::Write as _};

use super::style;

const SHOWN: char = '\u{fffd}';

/// Returns whether a character controls a terminal or the text direction.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns one line, without control characters and line breaks.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    replaced(text, steers)
}

/// Returns several lines without control characters other than line breaks.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| steers(c) && c != '\n')
}

/// Returns several lines without control characters other than line breaks and the sequences of [`style::SEQUENCES`].
pub(super) fn styled(text: &str) -> String {
    let (mut clean, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\x1b') {
        let (before, from) = rest.split_at(at);
        clean.push_str(&lines(before));
        let known = style::SEQUENCES.iter().find(|sequence| from.starts_with(**sequence));
        match known {
            Some(sequence) => clean.push_str(sequence),
            None => clean.push(SHOWN),
        }
        rest = &from[known.map_or(1, |sequence| sequence.len())..];
    }
    clean.push_str(&lines(rest));
    clean
}

fn replaced(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&bad) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if bad(c) { SHOWN } else { c }).collect::<String>().into()
}

/// JSON text with control characters escaped. They only occur in strings, so the value stays the same.
pub(super) fn json(text: &str) -> Cow<'_, str> {
    let bad = |c: char| steers(c) && c != '\n';
    if !text.chars().any(bad) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) {
            let _ = write!(clean, "\\u{:04x}", u32::from(c));
        } else {
            clean.push(c);
        }
    }
    clean.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(line("plain 日本"), "plain 日本");
        assert_eq!(line("a\x1b[31mb\nc\td\u{9b}e\u{202e}f\x7fg\u{61c}"), "a�[31mb�c�d�e�f�g�");
        assert_eq!(lines("a\nb\x07\r"), "a\nb��");
    }

    #[test]
    fn only_the_programs_own_color_sequences_are_kept() {
        let painted = style::painted("failed", "failed");
        assert_eq!(styled(&format!("a\n{painted} b")), format!("a\n{painted} b"));
        assert_eq!(styled("\x1b]0;title\x07\x1b[5mx\x1b"), "\u{fffd}]0;title\u{fffd}\u{fffd}[5mx\u{fffd}");
    }

    #[test]
    fn escaping_control_characters_does_not_change_the_json_value() {
        let value = serde_json::json!({"name": "a\u{9b}b\u{202e}c\x7f\x1b"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let clean = json(&text);
        assert!(!clean.chars().any(|c| steers(c) && c != '\n'), "{clean:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&clean).unwrap(), value);
    }
}
