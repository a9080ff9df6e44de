//! Parses times that users enter.

use jiff::{Span, Timestamp, civil::Date, tz::TimeZone};

/// Parses a date (00:00 UTC of that day) or a time with an offset, and returns it as RFC 3339 in UTC.
pub(crate) fn read(text: &str) -> Result<String, String> {
    let text = text.trim();
    let of_date = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|begin| begin.timestamp());
    let moment = text.parse::<Timestamp>().ok().or_else(of_date);
    moment
        .map(|moment| moment.to_string())
        .ok_or_else(|| format!("'{text}' is not a valid time; expected 2026-12-31 or 2026-12-31T18:00:00Z"))
}

/// Parses a future time: a date, a time with an offset, or a period from `now` on such as `30d`, `2 weeks` or `1 year`.
/// The result has whole seconds.
pub(crate) fn future(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    let of_date = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|begin| begin.timestamp());
    // In UTC, all days have 24 hours.
    let of_period = || Some(now.to_zoned(TimeZone::UTC).checked_add(text.parse::<Span>().ok()?).ok()?.timestamp());
    let moment = text.parse::<Timestamp>().ok().or_else(of_date).or_else(of_period);
    match moment.and_then(|moment| Timestamp::from_second(moment.as_second()).ok()) {
        Some(moment) if moment > now => Ok(moment),
        Some(_) => Err(format!("{text} is in the past")),
        None => Err(format!(
            "{text:?} is not a valid time; expected 2030-01-02T03:04:05Z, 2030-01-02 or a duration such as 30d"
        )),
    }
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

    #[test]
    fn future_times_are_parsed_as_time_date_or_period() {
        let now: Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        for (text, expected) in [
            ("2030-01-02T03:04:05Z", "2030-01-02T03:04:05Z"),
            ("2030-01-02T03:04:05+02:00", "2030-01-02T01:04:05Z"),
            (" 2030-01-02 ", "2030-01-02T00:00:00Z"),
            ("30d", "2026-02-01T03:04:05Z"),
            ("30 d", "2026-02-01T03:04:05Z"),
            ("2 weeks", "2026-01-16T03:04:05Z"),
            ("1 year", "2027-01-02T03:04:05Z"),
            ("12h", "2026-01-02T15:04:05Z"),
        ] {
            assert_eq!(future(text, now).map(|moment| moment.to_string()).as_deref(), Ok(expected), "{text}");
        }
        for (bad, why) in [("", "not a valid"), ("soon", "not a valid"), ("30", "not a valid"), ("-1h", "in the past")]
        {
            assert!(future(bad, now).unwrap_err().contains(why), "{bad}");
        }
    }
}
