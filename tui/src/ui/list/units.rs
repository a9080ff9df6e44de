//! Numbers in filters, in the format of the screen.

use crate::{output::human_bytes, ui::words};

/// The type of a filter column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Text,
    Count,
    /// Seconds.
    Age,
    /// Bytes.
    Size,
}

/// A column that a filter can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterColumn {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
}

impl FilterColumn {
    pub(crate) const fn text(name: &'static str) -> Self {
        Self { name, unit: Unit::Text }
    }

    pub(crate) const fn count(name: &'static str) -> Self {
        Self { name, unit: Unit::Count }
    }

    /// Creates a column of time spans.
    pub(crate) const fn age(name: &'static str) -> Self {
        Self { name, unit: Unit::Age }
    }

    pub(crate) const fn size(name: &'static str) -> Self {
        Self { name, unit: Unit::Size }
    }

    /// Reads `text` as seconds, bytes or a plain number.
    pub(super) fn number(self, text: &str) -> Result<i64, String> {
        let read = match self.unit {
            Unit::Text => None,
            Unit::Count => text.parse().ok(),
            Unit::Age => seconds(text),
            Unit::Size => bytes(text),
        };
        let name = self.name;
        read.ok_or_else(|| match self.unit {
            Unit::Text => format!("{name} is text: < and > do not work"),
            Unit::Count => format!("{name} takes a number such as 12"),
            Unit::Age => format!("{name} takes 30s, 12m, 3h, 2d, 1w or 1y"),
            Unit::Size => format!("{name} takes 512, 25KiB, 1.5M or 2G"),
        })
    }

    /// Returns whether the screen prints both numbers the same way.
    pub(super) fn prints_alike(self, number: i64, other: i64) -> bool {
        match self.unit {
            Unit::Age => words::span(number) == words::span(other),
            Unit::Size => human_bytes(number) == human_bytes(other),
            Unit::Text | Unit::Count => number == other,
        }
    }
}

/// Parses a time span such as `12m`, `2h10m` or `now`.
fn seconds(text: &str) -> Option<i64> {
    if text == "now" {
        return Some(0);
    }
    let factor = |unit: &str| {
        Some(match unit {
            "" | "s" => 1,
            "m" | "min" => 60,
            "h" => 3_600,
            "d" => 86_400,
            "w" => 7 * 86_400,
            "y" => 31_536_000,
            _ => return None,
        })
    };
    let mut rest = text;
    let mut sum: i64 = 0;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (digits, tail) = rest.split_at(unit_at);
        let unit_end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        sum = sum.saturating_add(scaled(digits, factor(&tail[..unit_end])?)?);
        rest = &tail[unit_end..];
    }
    (!text.is_empty()).then_some(sum)
}

/// Parses a size such as `512`, `25KiB` or `1.5M`.
fn bytes(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    scaled(digits, factor)
}

/// Parses a decimal number and multiplies it by `factor`.
fn scaled(digits: &str, factor: i64) -> Option<i64> {
    let (integer, part) = digits.split_once('.').unwrap_or((digits, "0"));
    // Further digits do not change the printed value.
    let part = part.get(..6).unwrap_or(part);
    let power = 10_i64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let unsigned =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i64>().ok()).flatten();
    // The screen rounds down, so parsing rounds up.
    let fraction = (i128::from(unsigned(part)?) * i128::from(factor) + i128::from(power) - 1) / i128::from(power);
    unsigned(integer)?.checked_mul(factor)?.checked_add(i64::try_from(fraction).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printed_number_can_be_parsed() {
        let (age, size) = (FilterColumn::age("age"), FilterColumn::size("size"));
        for seconds in [0, 1, 59, 60, 719, 3_600, 100_000, 172_800, 5_000_000, 100_000_000] {
            let printed = words::span(seconds);
            let read = age.number(&printed).unwrap();
            assert!(age.prints_alike(seconds, read), "{seconds} is printed as {printed}, read as {read}");
        }
        for bytes in [0, 1, 1_023, 1_024, 25_600, 43_225, 1 << 20, 5 << 30, 7 << 40] {
            let printed = human_bytes(bytes).replace(' ', "");
            let read = size.number(&printed).unwrap();
            assert!(size.prints_alike(bytes, read), "{bytes} is printed as {printed}, read as {read}");
        }
    }

    #[test]
    fn m_means_minutes_in_ages_and_mebibytes_in_sizes() {
        let (age, size, id) = (FilterColumn::age("age"), FilterColumn::size("size"), FilterColumn::count("id"));
        for (text, seconds) in [("5m", 300), ("5min", 300), ("2h10m", 7_800), ("1.5h", 5_400), ("2w", 1_209_600)] {
            assert_eq!(age.number(text), Ok(seconds), "{text}");
        }
        for (text, bytes) in [("5m", 5 << 20), ("5M", 5 << 20), ("5MiB", 5 << 20), ("1.5k", 1_536), ("7", 7)] {
            assert_eq!(size.number(text), Ok(bytes), "{text}");
        }
        assert_eq!(id.number("12"), Ok(12));
        for (field, bad) in [(age, "5M"), (age, "5MiB"), (age, "m"), (age, ""), (size, "5x"), (size, "1.k"), (id, "1k")]
        {
            assert!(field.number(bad).is_err(), "{bad}");
        }
        assert_eq!(age.number("5x").unwrap_err(), "age takes 30s, 12m, 3h, 2d, 1w or 1y");
    }
}
