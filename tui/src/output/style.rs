//! How tables look: as wide as the terminal, with times as ages; or complete, for programs.

use std::{io::IsTerminal as _, sync::OnceLock};

use jiff::Timestamp;

use crate::{args::TimeStyle, clock};

/// How tables look. Decided once, from the flags and from where standard output goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    /// The width of the terminal in cells; `None`: nothing is shortened.
    pub(super) columns: Option<usize>,
    /// Times are shown as ages.
    pub(super) ages: bool,
}

static STYLE: OnceLock<Style> = OnceLock::new();

/// Decides the style of this run of the program.
pub(super) fn decide(time: Option<TimeStyle>) {
    let is_terminal = std::io::stdout().is_terminal();
    let columns = crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
    let ages = time.map_or(is_terminal, |time| time == TimeStyle::Relative);
    let _ = STYLE.set(Style { columns: columns.filter(|_| is_terminal), ages }); // the first decision holds
}

pub(super) fn current() -> Style {
    STYLE.get().copied().unwrap_or_default()
}

/// A time in RFC 3339 for a table: its age, or as it is. A text that is no time stays as it is.
pub(crate) fn time(text: &str) -> String {
    age(text, current())
}

fn age(text: &str, style: Style) -> String {
    match text.parse() {
        Ok(then) if style.ages => distance(then, clock::now()),
        _ => text.to_owned(),
    }
}

/// Seconds of the units of an age, the largest first.
const UNITS: [(i64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
/// From this age on the date says more.
const DATE_AFTER_SECS: i64 = 60 * 86_400;

/// `5m ago`, `in 3d`, or the date of what is far away.
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
    fn ages_have_one_unit() {
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
    fn times_stay_complete_unless_ages_are_wanted() {
        let now = clock::now().to_string();
        assert_eq!(age(&now, Style::default()), now);
        let ages = Style { ages: true, columns: None };
        assert_ne!(age(&now, ages), now);
        assert_eq!(age("never", ages), "never");
    }
}
