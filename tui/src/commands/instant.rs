//! Times in filters.

use jiff::{SpanRelativeTo, Timestamp, civil, tz::TimeZone};

use crate::exit::Failure;

/// Parses `2030-01-02T03:04:05Z`, `2030-01-02`, or a duration before now such as `1h`. Returns RFC 3339.
/// `flag` is the option that has the text.
pub(super) fn instant(flag: &str, text: &str, now: Timestamp) -> Result<String, Failure> {
    let ago = || {
        let span: jiff::Span = text.parse().ok()?;
        now.checked_sub(span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?).ok()
    };
    let date = || text.parse::<civil::Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
    let instant: Option<Timestamp> = text.parse().ok().or_else(date).or_else(ago);
    let unknown = || {
        Failure::Usage(format!(
            "{flag}: {text:?} is not a valid time; expected 2030-01-02T03:04:05Z, 2030-01-02 or a duration such as 1h"
        ))
    };
    instant.map(|instant| instant.to_string()).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    #[test]
    fn times_are_parsed_as_timestamp_date_or_age() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        for (text, expected) in [
            ("2025-01-02T03:04:05Z", "2025-01-02T03:04:05Z"),
            ("2025-01-02", "2025-01-02T00:00:00Z"),
            ("1h", "2026-01-02T02:04:05Z"),
            ("2d", "2025-12-31T03:04:05Z"),
        ] {
            assert_eq!(instant("--since", text, now).unwrap(), expected, "{text}");
        }
        assert_eq!(instant("--since", "soon", now).unwrap_err().code(), exit::USAGE);
    }
}
