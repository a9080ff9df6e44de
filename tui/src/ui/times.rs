//! Formats times for the screen.
//!
//! The user chooses the style: relative, in full in UTC, or in full in local time. This module reads no clock: the
//! current time is passed in, so that ages are correct after the clock was set or the machine slept.

use jiff::{Timestamp, tz::TimeZone};

use super::words::{seconds, seconds_from, span};

/// Styles of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Times {
    /// `4m`: relative.
    #[default]
    Relative,
    /// `2026-11-20T14:02:09Z`
    Iso,
    /// `2026-11-20 15:02`, in local time.
    Local,
}

impl Times {
    pub(crate) const NAMES: &[&str] = &["relative", "iso", "local"];

    /// Returns the style of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "relative" => Self::Relative,
            "iso" => Self::Iso,
            "local" => Self::Local,
            _ => return None,
        })
    }

    /// Returns the width of a column of ages, in cells.
    pub(crate) fn cells(self) -> u16 {
        match self {
            Self::Relative => 0,
            Self::Iso => 20,
            Self::Local => 16,
        }
    }
}

/// The current time, and the style of other times.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Timestamp,
    pub(crate) style: Times,
    pub(crate) zone: TimeZone,
}

impl Clock {
    /// Returns a clock in UTC.
    pub(crate) fn at(now: Timestamp, style: Times) -> Self {
        Self { now, style, zone: TimeZone::UTC }
    }

    /// Formats how long ago a time was, or the time itself. A dash for no time.
    pub(crate) fn age(&self, text: &str) -> String {
        self.age_from(seconds(text))
    }

    /// Formats the same for a time in seconds since 1970.
    pub(crate) fn age_from(&self, then: i64) -> String {
        match self.style {
            Times::Relative => self.since(then),
            Times::Iso => self.written(then, "%Y-%m-%dT%H:%M:%SZ"),
            Times::Local => self.written(then, "%Y-%m-%d %H:%M"),
        }
    }

    /// Formats the time until `then` (seconds since 1970), or the time itself: `89d 23h`, `2h 10m`, `41m`, `over`.
    /// A dash for no time.
    pub(crate) fn until(&self, then: i64) -> String {
        if self.style == Times::Relative { self.left(then) } else { self.age_from(then) }
    }

    /// Formats a time (seconds since 1970) in at most seven cells, or in full: `14:02` on the same day, `11-20` in
    /// the same year, `2025-11` before. A dash for no time.
    pub(crate) fn day(&self, then: i64) -> String {
        let same = |form| self.written(then, form) == self.written(self.now.as_second(), form);
        match self.style {
            Times::Iso | Times::Local => self.age_from(then),
            Times::Relative if same("%F") => self.written(then, "%H:%M"),
            Times::Relative if same("%Y") => self.written(then, "%m-%d"),
            Times::Relative => self.written(then, "%Y-%m"),
        }
    }

    /// Formats a time (seconds since 1970): `14:02:07`, or the time in full.
    pub(crate) fn moment(&self, then: i64) -> String {
        if self.style == Times::Iso { self.age_from(then) } else { self.time_of(then) }
    }

    /// Formats how long ago a time was, in any style.
    pub(crate) fn since(&self, then: i64) -> String {
        seconds_from(then, self.now).map_or_else(|| "-".to_owned(), span)
    }

    /// Formats how long ago a time was (`2h`), or how far it is in the future (`in 2h`), in any style.
    pub(crate) fn since_or_in(&self, then: i64) -> String {
        match seconds_from(then, self.now) {
            Some(since @ ..=-1) => format!("in {}", span(since.saturating_neg())),
            _ => self.since(then),
        }
    }

    /// Formats the time until `then` (seconds since 1970), in any style.
    pub(crate) fn left(&self, then: i64) -> String {
        match seconds_from(then, self.now).map(|since| -since) {
            None => "-".to_owned(),
            Some(i64::MIN..=0) => "over".to_owned(),
            Some(s @ 3_600..172_800) => format!("{}h {}m", s / 3_600, s / 60 % 60),
            Some(s) if s >= 172_800 => format!("{}d {}h", s / 86_400, s / 3_600 % 24),
            Some(s) => span(s),
        }
    }

    /// Formats `2026-11-20 14:02:09`: date and time to the second. A dash for no time.
    pub(crate) fn stamp(&self, text: &str) -> String {
        self.stamp_of(seconds(text))
    }

    /// Formats the same for a time in seconds since 1970.
    pub(crate) fn stamp_of(&self, then: i64) -> String {
        match self.style {
            Times::Iso => self.age_from(then),
            Times::Relative | Times::Local => self.written(then, "%Y-%m-%d %H:%M:%S"),
        }
    }

    /// Formats seconds since 1970 as `2026-11-20 14:02`: date and minute; in full in ISO style. A dash for no time.
    pub(crate) fn minute_of(&self, then: i64) -> String {
        match self.style {
            Times::Iso => self.age_from(then),
            Times::Relative | Times::Local => self.written(then, "%Y-%m-%d %H:%M"),
        }
    }

    /// Formats the date after a number of days: `2026-12-21`.
    pub(crate) fn date_in(&self, days: i64) -> String {
        self.written(self.now.as_second().saturating_add(days.saturating_mul(86_400)), "%Y-%m-%d")
    }

    /// Formats `14:02:07`.
    pub(crate) fn time(&self, text: &str) -> String {
        self.time_of(seconds(text))
    }

    /// Formats the same for a time in seconds since 1970.
    pub(crate) fn time_of(&self, then: i64) -> String {
        self.written(then, "%H:%M:%S")
    }

    fn written(&self, then: i64, form: &str) -> String {
        let Some(time) = Timestamp::from_second(then).ok().filter(|_| then > 0) else { return "-".to_owned() };
        match self.style {
            Times::Local => time.to_zoned(self.zone.clone()).strftime(form).to_string(),
            Times::Relative | Times::Iso => time.strftime(form).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(style: Times) -> Clock {
        let zone = TimeZone::fixed(jiff::tz::offset(5));
        Clock { zone, ..Clock::at("2026-11-21T12:00:00Z".parse().unwrap(), style) }
    }

    #[test]
    fn relative_times_are_short() {
        let clock = clock(Times::Relative);
        let cases = [
            ("2026-11-21T12:00:00Z", "now"),
            ("2026-11-21T11:59:30Z", "30s"),
            ("2026-11-20T17:00:00Z", "19h"),
            ("2026-08-25T12:00:00Z", "88d"),
            ("2022-11-21T12:00:00Z", "4y"),
            ("0001-01-01T00:00:00Z", "-"),
            ("", "-"),
        ];
        for (text, word) in cases {
            assert_eq!(clock.age(text), word, "{text}");
        }
        for (text, left) in [
            ("2027-02-18T11:30:00Z", "88d 23h"),
            ("2026-11-21T14:10:59Z", "2h 10m"),
            ("2026-11-21T12:41:00Z", "41m"),
            ("2026-11-21T12:00:00Z", "over"),
            ("", "-"),
        ] {
            assert_eq!(clock.until(seconds(text)), left, "{text}");
        }
        for (text, word) in [
            ("2026-11-21T02:03:59Z", "02:03"),
            ("2026-11-20T23:59:00Z", "11-20"),
            ("2025-11-21T12:00:00Z", "2025-11"),
            ("", "-"),
        ] {
            assert_eq!(clock.day(seconds(text)), word, "{text}");
        }
    }

    #[test]
    fn times_are_formatted_in_the_chosen_style() {
        let then = "2026-11-20T21:02:09Z";
        let all = |style| {
            let clock = clock(style);
            [
                clock.age(then),
                clock.moment(seconds(then)),
                clock.stamp(then),
                clock.time(then),
                clock.until(seconds(then)),
            ]
        };
        assert_eq!(all(Times::Relative), ["14h", "21:02:09", "2026-11-20 21:02:09", "21:02:09", "over"]);
        let iso = "2026-11-20T21:02:09Z";
        assert_eq!(all(Times::Iso), [iso, iso, iso, "21:02:09", iso]);
        let local = "2026-11-21 02:02";
        assert_eq!(all(Times::Local), [local, "02:02:09", "2026-11-21 02:02:09", "02:02:09", local]);
        for (name, style) in Times::NAMES.iter().zip([Times::Relative, Times::Iso, Times::Local]) {
            assert_eq!(Times::named(name), Some(style));
            let clock = clock(style);
            assert!(clock.age(then).len() <= usize::from(style.cells()).max(5));
            assert_eq!((clock.age(""), clock.stamp("0001-01-01T00:00:00Z")), ("-".into(), "-".into()));
            assert_eq!((clock.since(seconds(then)).as_str(), clock.left(seconds(then)).as_str()), ("14h", "over"));
            let in_3h = clock.now.as_second() + 11_000;
            assert_eq!([clock.since_or_in(seconds(then)), clock.since_or_in(in_3h)], ["14h", "in 3h"]);
        }
    }
}
