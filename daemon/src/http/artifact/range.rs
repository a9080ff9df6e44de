//! Parses byte ranges of downloads.

use std::ops::Range;

/// The bytes that a range header asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// The complete content: the header is absent, has several ranges, or is not valid.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// Bytes outside the content.
    Unsatisfiable,
}

/// Parses `bytes=first-last`, `bytes=first-` or `bytes=-count` for a content of `size` bytes.
///
/// Invalid headers are ignored, as RFC 9110 requires. Headers with several ranges are ignored, too: no artifact client
/// sends them.
pub fn parse(header: &str, size: u64) -> RequestedRange {
    let Some((unit, spec)) = header.split_once('=') else { return RequestedRange::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") || spec.contains(',') {
        return RequestedRange::Whole;
    }
    let Some((first, last)) = spec.split_once('-') else { return RequestedRange::Whole };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that overflows is larger than any content.
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (first.trim(), last.trim()) {
        ("", count) => match number(count) {
            Some(0) => RequestedRange::Unsatisfiable,
            Some(_) if size == 0 => RequestedRange::Unsatisfiable,
            Some(count) => RequestedRange::Part(size.saturating_sub(count)..size),
            None => RequestedRange::Whole,
        },
        (first, last) => match (number(first), last, number(last)) {
            (Some(first), "", _) => part(first, u64::MAX, size),
            (Some(first), _, Some(last)) if first <= last => part(first, last, size),
            _ => RequestedRange::Whole,
        },
    }
}

fn part(first: u64, last: u64, size: u64) -> RequestedRange {
    if first >= size {
        RequestedRange::Unsatisfiable
    } else {
        RequestedRange::Part(first..last.saturating_add(1).min(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed_and_limited_to_the_content() {
        use RequestedRange::{Part, Unsatisfiable, Whole};
        for (header, expected) in [
            ("bytes=100-199", Part(100..200)),
            ("bytes=0-0", Part(0..1)),
            ("bytes=990-", Part(990..1000)),
            ("bytes=990-99999999999999999999999", Part(990..1000)),
            ("bytes=-10", Part(990..1000)),
            ("bytes=-5000", Part(0..1000)),
            ("Bytes = 1-2", Part(1..3)),
            ("bytes=1000-", Unsatisfiable),
            ("bytes=1000-1001", Unsatisfiable),
            ("bytes=-0", Unsatisfiable),
            ("bytes=5-4", Whole),
            ("bytes=0-1,3-4", Whole),
            ("bytes=a-b", Whole),
            ("bytes=-", Whole),
            ("bytes=+1-2", Whole),
            ("lines=1-2", Whole),
            ("", Whole),
        ] {
            assert_eq!(parse(header, 1000), expected, "{header}");
        }
        assert_eq!(parse("bytes=0-", 0), Unsatisfiable);
        assert_eq!(parse("bytes=-1", 0), Unsatisfiable);
    }
}
