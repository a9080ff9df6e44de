//! Times of day as people read them on a screen.
//!
//! Owns how they are written, which the user chooses: as ages, in full in UTC, or in full where the
//! user is. Reads no clock: what it is now is set from outside, so that ages are right again after the
//! clock was set or the machine slept.

use jiff::{Timestamp, tz::TimeZone};

use super::words::{seconds, seconds_from, span};

/// How times are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Times {
    /// `4m`: how long ago it was.
    #[default]
    Relative,
    /// `2026-11-20T14:02:09Z`
    Iso,
    /// `2026-11-20 15:02`, by the clock on the wall.
    Local,
}

impl Times {
    pub(crate) const NAMES: &[&str] = &["relative", "iso", "local"];

    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "relative" => Self::Relative,
            "iso" => Self::Iso,
            "local" => Self::Local,
            _ => return None,
        })
    }

    /// Cells that a column of ages needs.
    pub(crate) fn cells(self) -> u16 {
        match self {
            Self::Relative => 0,
            Self::Iso => 20,
            Self::Local => 16,
        }
    }
}

/// What it is now, and how other times are written.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Timestamp,
    pub(crate) style: Times,
    pub(crate) zone: TimeZone,
}

impl Clock {
    /// A clock in UTC.
    pub(crate) fn at(now: Timestamp, style: Times) -> Self {
        Self { now, style, zone: TimeZone::UTC }
    }

    /// How long ago it was, or when. A dash for no time.
    pub(crate) fn age(&self, text: &str) -> String {
        self.age_from(seconds(text))
    }

    /// The same of a time that is counted in seconds.
    pub(crate) fn age_from(&self, then: i64) -> String {
        match self.style {
            Times::Relative => self.since(then),
            Times::Iso => self.written(then, "%Y-%m-%dT%H:%M:%SZ"),
            Times::Local => self.written(then, "%Y-%m-%d %H:%M"),
        }
    }

    /// How long until it is, or when: `89d 23h`, `2h 10m`, `41m`, `over`. A dash for no time. The time
    /// is counted in seconds.
    pub(crate) fn until(&self, then: i64) -> String {
        if self.style == Times::Relative { self.left(then) } else { self.age_from(then) }
    }

    /// When it was, in at most seven cells, or in full: `14:02` on the same day, `11-20` in the same year,
    /// `2025-11` before. A dash for no time. The time is counted in seconds.
    pub(crate) fn day(&self, then: i64) -> String {
        let same = |form| self.written(then, form) == self.written(self.now.as_second(), form);
        match self.style {
            Times::Iso | Times::Local => self.age_from(then),
            Times::Relative if same("%F") => self.written(then, "%H:%M"),
            Times::Relative if same("%Y") => self.written(then, "%m-%d"),
            Times::Relative => self.written(then, "%Y-%m"),
        }
    }

    /// `14:02:07`, or in full.
    pub(crate) fn moment(&self, text: &str) -> String {
        if self.style == Times::Iso { self.age(text) } else { self.time(text) }
    }

    /// How long ago it was, whatever was chosen.
    pub(crate) fn since(&self, then: i64) -> String {
        seconds_from(then, self.now).map_or_else(|| "-".to_owned(), span)
    }

    /// How long until it is, whatever was chosen. The time is counted in seconds.
    pub(crate) fn left(&self, then: i64) -> String {
        match seconds_from(then, self.now).map(|since| -since) {
            None => "-".to_owned(),
            Some(i64::MIN..=0) => "over".to_owned(),
            Some(s @ 3_600..172_800) => format!("{}h {}m", s / 3_600, s / 60 % 60),
            Some(s) if s >= 172_800 => format!("{}d {}h", s / 86_400, s / 3_600 % 24),
            Some(s) => span(s),
        }
    }

    /// `2026-11-20 14:02:09`: with its date, to the second. A dash for no time.
    pub(crate) fn stamp(&self, text: &str) -> String {
        self.stamp_of(seconds(text))
    }

    /// The same of a time that is counted in seconds.
    pub(crate) fn stamp_of(&self, then: i64) -> String {
        match self.style {
            Times::Iso => self.age_from(then),
            Times::Relative | Times::Local => self.written(then, "%Y-%m-%d %H:%M:%S"),
        }
    }

    /// `2026-11-20 14:02`: date and minute; in ISO style in full. A dash for no time.
    pub(crate) fn minute(&self, text: &str) -> String {
        match self.style {
            Times::Iso => self.age(text),
            Times::Relative | Times::Local => self.written(seconds(text), "%Y-%m-%d %H:%M"),
        }
    }

    /// The date after a number of days: `2026-12-21`.
    pub(crate) fn date_in(&self, days: i64) -> String {
        self.written(self.now.as_second().saturating_add(days.saturating_mul(86_400)), "%Y-%m-%d")
    }

    /// `14:02:07`
    pub(crate) fn time(&self, text: &str) -> String {
        self.written(seconds(text), "%H:%M:%S")
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
    fn ages_are_short() {
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
    fn times_are_written_as_somebody_wants_them() {
        let then = "2026-11-20T21:02:09Z";
        let all = |style| {
            let clock = clock(style);
            [clock.age(then), clock.moment(then), clock.stamp(then), clock.time(then), clock.until(seconds(then))]
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
        }
    }
}
