//! Durations in the text form of Go, such as `8h0m0s`, which the API uses for intervals.

use std::time::Duration;

/// Longest duration, in seconds: 100 years.
const MAX_SECS: f64 = 3_153_600_000.0;

/// Parses a duration. Fractions of a millisecond are dropped. `None`: the text is not a duration, or it is negative or
/// longer than 100 years.
pub fn parse(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 8] =
        [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("ms", 1e-3), ("h", 3_600.0), ("m", 60.0), ("s", 1.0)];
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        let (unit, scale) = UNITS.iter().find(|(unit, _)| rest[digits..].starts_with(unit))?;
        total += number * scale;
        rest = &rest[digits + unit.len()..];
    }
    let secs = sign * total;
    let exact = (0.0..=MAX_SECS).contains(&secs).then(|| Duration::from_secs_f64(secs))?;
    Some(Duration::from_secs(exact.as_secs()) + Duration::from_millis(exact.subsec_millis().into()))
}

/// Formats a duration of whole seconds, for example `10m0s`.
pub fn format(duration: Duration) -> String {
    let secs = duration.as_secs();
    let (hours, minutes, seconds) = (secs / 3_600, secs / 60 % 60, secs % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_written_as_go_does() {
        for (text, expected) in [
            ("0", "0s"),
            ("0s", "0s"),
            ("10m", "10m0s"),
            ("8h0m0s", "8h0m0s"),
            ("1.5h", "1h30m0s"),
            ("600s", "10m0s"),
            ("600000ms", "10m0s"),
            ("-0s", "0s"),
        ] {
            assert_eq!(parse(text).map(format).as_deref(), Some(expected), "{text}");
        }
        for bad in ["abc", "-8h", "8", "h", "8h ", "+", "", "8x", "1e9h", "9999999h", "1..5h"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
