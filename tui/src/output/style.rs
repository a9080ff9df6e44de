//! The style of results: on a terminal fitted to its width, with relative times and colors; otherwise complete
//! and plain.

use std::{ffi::OsString, io::IsTerminal as _, sync::OnceLock};

use jiff::Timestamp;

use crate::{args::TimeStyle, clock, endpoint::variable, ui::ColorMode};

/// The style of results. Determined once, from the flags, the environment and whether standard output is a
/// terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    /// Width of the terminal in cells; `None`: tables are not shortened.
    pub(super) columns: Option<usize>,
    /// Whether times are relative.
    pub(super) ages: bool,
    /// Whether states have colors.
    colors: bool,
}

static STYLE: OnceLock<Style> = OnceLock::new();

/// Determines the style of this process.
pub(super) fn decide(time: Option<TimeStyle>, color: Option<ColorMode>) {
    let is_terminal = std::io::stdout().is_terminal();
    let columns = crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
    let ages = time.map_or(is_terminal, |time| time == TimeStyle::Relative);
    let colors = is_colored(color, is_terminal, variable);
    let _ = STYLE.set(Style { columns: columns.filter(|_| is_terminal), ages, colors }); // the first decision holds
}

pub(super) fn current() -> Style {
    STYLE.get().copied().unwrap_or_default()
}

/// Returns whether results have colors. The flag takes precedence over `FARRIER_COLOR`, and that over `NO_COLOR`.
fn is_colored(flag: Option<ColorMode>, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let from_environment = || variable("FARRIER_COLOR")?.to_str()?.parse().ok();
    let mode = flag.or_else(from_environment).unwrap_or(ColorMode::Auto);
    match mode {
        ColorMode::Auto => {
            is_terminal && variable("NO_COLOR").is_none() && variable("TERM").is_some_and(|term| term != "dumb")
        }
        ColorMode::Only(_) => "never".parse() != Ok(mode),
    }
}

const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";
/// All escape sequences that this module writes.
pub(super) const SEQUENCES: [&str; 5] = [GREEN, RED, YELLOW, DIM, RESET];

/// Words in states, and their colors. If a state contains several, the first row with a match decides.
const STATES: [(&[&str], &str); 4] = [
    (&["fail", "failed", "failing", "failure", "error", "disabled"], RED),
    (&["pending", "queued", "in_progress", "running", "importing", "warning", "warn", "unhealthy"], YELLOW),
    (&["success", "ok", "on", "active", "done"], GREEN),
    (&["cancelled", "skipped", "off", "inactive", "archived", "expired"], DIM),
];

/// Returns a state in its color.
pub(super) fn state(text: &str) -> String {
    if current().colors { painted(text, text) } else { text.to_owned() }
}

/// `text` in the color of `state`.
pub(super) fn painted(text: &str, state: &str) -> String {
    let words = || state.split([' ', ',']);
    match STATES.iter().find(|(known, _)| words().any(|word| known.contains(&word))) {
        Some((_, color)) => format!("{color}{text}{RESET}"),
        None => text.to_owned(),
    }
}

/// `text` without the sequences of [`painted`].
pub(super) fn plain(text: &str) -> String {
    SEQUENCES.iter().fold(text.to_owned(), |text, sequence| text.replace(sequence, ""))
}

/// Formats an RFC 3339 time for a table: relative or unchanged. Other text is unchanged.
pub(crate) fn time(text: &str) -> String {
    age(text, current())
}

/// Formats an RFC 3339 time for a page: unchanged, on a terminal followed by the relative time.
pub(crate) fn moment(text: &str) -> String {
    let relative = time(text);
    if relative == text { relative } else { format!("{text} ({relative})") }
}

fn age(text: &str, style: Style) -> String {
    match text.parse() {
        Ok(then) if style.ages => distance(then, clock::now()),
        _ => text.to_owned(),
    }
}

/// Units of relative times in seconds, largest first.
const UNITS: [(i64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
/// Times that are further away are shown as a date.
const DATE_AFTER_SECS: i64 = 60 * 86_400;

/// `5m ago`, `in 3d`, or a date.
fn distance(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    let length = seconds.abs();
    if length >= DATE_AFTER_SECS {
        return then.strftime("%Y-%m-%d").to_string();
    }
    let Some((unit, letter)) = UNITS.into_iter().find(|(unit, _)| length >= *unit) else { return "now".to_owned() };
    let count = length / unit;
    if seconds > 0 { format!("{count}{letter} ago") } else { format!("in {count}{letter}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_times_have_one_unit() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        for (then, expected) in [
            ("2026-01-02T03:04:05Z", "now"),
            ("2026-01-02T03:03:20Z", "45s ago"),
            ("2026-01-02T01:00:00Z", "2h ago"),
            ("2026-01-05T04:00:00Z", "in 3d"),
            ("2025-01-02T03:04:05Z", "2025-01-02"),
        ] {
            assert_eq!(distance(then.parse().unwrap(), now), expected, "{then}");
        }
    }

    #[test]
    fn times_are_shown_as_relative_only_if_enabled() {
        let now = clock::now().to_string();
        assert_eq!(age(&now, Style::default()), now);
        let ages = Style { ages: true, ..Style::default() };
        assert_ne!(age(&now, ages), now);
        assert_eq!(age("never", ages), "never");
    }

    #[test]
    fn colors_follow_the_flag_then_the_environment_then_the_terminal() {
        let colored = |flag: &str, is_terminal, set: &'static [(&str, &str)]| {
            let variable = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(*value));
            is_colored(flag.parse().ok(), is_terminal, variable)
        };
        assert!(colored("", true, &[("TERM", "xterm")]));
        assert!(!colored("", false, &[("TERM", "xterm")]) && !colored("", true, &[("TERM", "dumb")]));
        assert!(!colored("auto", true, &[("TERM", "xterm"), ("NO_COLOR", "1")]));
        assert!(colored("always", false, &[("NO_COLOR", "1")]) && colored("256", false, &[]));
        assert!(!colored("never", true, &[("TERM", "xterm"), ("FARRIER_COLOR", "always")]));
        assert!(colored("", false, &[("NO_COLOR", "1"), ("FARRIER_COLOR", "always")]));
    }

    #[test]
    fn states_have_the_color_of_their_most_important_word() {
        for (state, color) in [
            ("failed", RED),
            ("import failed, private", RED),
            ("in_progress", YELLOW),
            ("on", GREEN),
            ("private, archived", DIM),
        ] {
            assert_eq!(painted(state, state), format!("{color}{state}{RESET}"));
            assert_eq!(plain(&painted(state, state)), state);
        }
        assert_eq!(painted("private", "private"), "private");
    }
}
