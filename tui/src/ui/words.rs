//! Formats numbers and durations for the screen, in as few cells as possible.

use jiff::Timestamp;

use crate::output::{clean_line, plural};

/// Formats a duration in at most five cells: `now`, `4m`, `19h`, `88d`, `3y`.
pub(crate) fn span(seconds: i64) -> String {
    match seconds.max(0) {
        0 => "now".to_owned(),
        s @ 1..60 => format!("{s}s"),
        s @ 60..3_600 => format!("{}m", s / 60),
        s @ 3_600..172_800 => format!("{}h", s / 3_600),
        s @ 172_800..63_072_000 => format!("{}d", s / 86_400),
        s => format!("{}y", s / 31_536_000),
    }
}

/// Returns the seconds since an RFC 3339 time. The zero time of the Gitea API means no time.
pub(crate) fn seconds_since(text: &str, now: Timestamp) -> Option<i64> {
    seconds_from(seconds(text), now)
}

/// Converts an RFC 3339 time to seconds since 1970; 0 for none, and for the zero time of the Gitea API.
pub(crate) fn seconds(text: &str) -> i64 {
    text.parse::<Timestamp>().map_or(0, |then| then.as_second().max(0))
}

/// Formats seconds since 1970 as the daemon does; 0 as the zero time of the Gitea API.
pub(crate) fn rfc3339(seconds: i64) -> String {
    let time = Timestamp::from_second(seconds).ok().filter(|_| seconds > 0);
    time.map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), |time| time.to_string())
}

/// Returns the seconds since a time in seconds since 1970; 0 means no time.
pub(crate) fn seconds_from(then: i64, now: Timestamp) -> Option<i64> {
    (then > 0).then(|| now.as_second() - then)
}

/// Formats `1 204`.
pub(crate) fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats `1 event` and `1 204 events`. `noun`: in the singular.
pub(crate) fn counted(number: i64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {}", count(number), plural(noun)) }
}

/// Maximum length of a title.
const TITLE_MAX_CHARS: usize = 500;

/// Returns the first line of a message for lists, at most 500 characters of it: messages can be megabytes long.
pub(crate) fn title(message: &str) -> String {
    message.lines().next().unwrap_or_default().chars().take(TITLE_MAX_CHARS).collect()
}

/// Converts a text to lower case. `None` if the length of a character changes, because then positions in the two texts
/// differ.
pub(crate) fn lowercase_in_place(text: &str) -> Option<String> {
    let keeps_length = |c: char| c.is_ascii() || c.to_lowercase().map(char::len_utf8).sum::<usize>() == c.len_utf8();
    text.chars().all(keeps_length).then(|| text.to_lowercase())
}

/// Formats `12d 04:11`.
pub(crate) fn uptime(seconds: i64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    if days > 0 {
        format!("{days}d {hours:02}:{minutes:02}")
    } else {
        format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
    }
}

/// Returns whole percents.
pub(crate) fn percent(part: i64, total: i64) -> i64 {
    if total > 0 { part.max(0).saturating_mul(100) / total } else { 0 }
}

/// Formats names and values, one pair per line, without empty values. Line breaks in a value become spaces, so that a
/// value of another user cannot imitate a line.
pub(crate) fn fields(pairs: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    let lines = pairs.map(|(name, value)| format!("{name:<12}  {}", clean_line(&value.replace('\n', " "))));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_short() {
        assert_eq!((title("fix: a\n\nBecause."), title("")), ("fix: a".into(), String::new()));
        assert_eq!(title(&"日".repeat(1_000_000)), "日".repeat(500));
    }

    #[test]
    fn lower_case_with_other_positions_is_refused() {
        assert_eq!(lowercase_in_place("GRÖSSE Σ 日本").as_deref(), Some("grösse σ 日本"));
        // The whole text keeps its length: two characters become longer, and one becomes shorter.
        let shifted = "ȺȺ\u{212a}";
        assert_eq!(shifted.to_lowercase().len(), shifted.len());
        assert_eq!(lowercase_in_place(shifted), None);
    }

    #[test]
    fn times_are_formatted_as_the_daemon_does() {
        for text in ["2026-11-21T11:55:00Z", "1970-01-01T00:00:01Z", "0001-01-01T00:00:00Z"] {
            assert_eq!(rfc3339(seconds(text)), text);
        }
    }

    #[test]
    fn a_value_with_line_breaks_is_one_line() {
        let pairs = [("state", String::new()), ("error", "refused\nstate         ok\x1b[A".to_owned())];
        assert_eq!(fields(pairs), "error         refused state         ok\u{fffd}[A");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!((count(0), count(1_204), count(-1_234_567)), ("0".into(), "1 204".into(), "-1 234 567".into()));
        assert_eq!((counted(1, "entry"), counted(1_204, "entry")), ("1 entry".into(), "1 204 entries".into()));
        assert_eq!(uptime(12 * 86_400 + 4 * 3_600 + 11 * 60), "12d 04:11");
    }
}
