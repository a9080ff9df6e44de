//! Text that a terminal may see.
//!
//! Names and messages come from others: a name may hold the escape sequence that renames a window or
//! the mark that turns the line around.

use std::{borrow::Cow, fmt::Write as _};

const SHOWN: char = '\u{fffd}';

/// Whether a character steers a terminal or the direction of the text.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line: nothing steers, and there are no line breaks.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    replaced(text, steers)
}

/// Several lines, indented with blanks: line breaks stay.
pub(super) fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| steers(c) && c != '\n')
}

fn replaced(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&bad) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if bad(c) { SHOWN } else { c }).collect::<String>().into()
}

/// JSON text with every character escaped that steers. They can only stand in strings, so that the
/// value stays the same.
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
    fn nothing_steers_the_terminal() {
        assert_eq!(line("plain 日本"), "plain 日本");
        assert_eq!(line("a\x1b[31mb\nc\td\u{9b}e\u{202e}f\x7f"), "a�[31mb�c�d�e�f�");
        assert_eq!(lines("a\nb\x07\r"), "a\nb��");
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"name": "a\u{9b}b\u{202e}c\x7f\x1b"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let clean = json(&text);
        assert!(!clean.chars().any(|c| steers(c) && c != '\n'), "{clean:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&clean).unwrap(), value);
    }
}
