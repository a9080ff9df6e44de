//! Parses times that users enter.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// Parses a date (00:00 UTC of that day) or a time with an offset, and returns it as RFC 3339 in UTC.
pub(crate) fn read(text: &str) -> Result<String, String> {
    let text = text.trim();
    let of_date = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|begin| begin.timestamp());
    let moment = text.parse::<Timestamp>().ok().or_else(of_date);
    moment
        .map(|moment| moment.to_string())
        .ok_or_else(|| format!("'{text}' is not a valid time; expected 2026-12-31 or 2026-12-31T18:00:00Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dates_and_times_are_parsed() {
        for (text, moment) in [
            ("2026-12-31", "2026-12-31T00:00:00Z"),
            (" 2026-12-31T18:00:00Z ", "2026-12-31T18:00:00Z"),
            ("2026-12-31T18:00:00+02:00", "2026-12-31T16:00:00Z"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(moment), "{text}");
        }
        for text in ["", "soon", "12-31", "2026-13-01", "18:00"] {
            assert!(read(text).unwrap_err().contains("is not a valid time"), "{text}");
        }
    }
}
