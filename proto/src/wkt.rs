//! Well-known types with the JSON format that strict clients parse.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// A point in time: seconds since the Unix epoch and nanoseconds, `0..=999_999_999`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z; may be negative.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds after `seconds`. Never negative.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl Timestamp {
    /// Returns the time `ms` milliseconds after the epoch.
    pub fn from_millis(ms: i64) -> Self {
        Self {
            seconds: ms.div_euclid(1_000),
            nanos: i32::try_from(ms.rem_euclid(1_000) * 1_000_000).unwrap_or_default(),
        }
    }

    /// Returns the milliseconds since the epoch, rounded down; `None` if they overflow or the nanoseconds are
    /// out of range.
    pub fn as_millis(&self) -> Option<i64> {
        let nanos = u32::try_from(self.nanos).ok().filter(|n| *n < 1_000_000_000)?;
        self.seconds.checked_mul(1_000)?.checked_add(i64::from(nanos / 1_000_000))
    }
}

impl Serialize for Timestamp {
    /// Writes RFC 3339 in UTC with `Z` and 0, 3, 6 or 9 digits of a second, the only formats that the artifact
    /// client of Actions parses.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let instant = jiff::Timestamp::new(self.seconds, self.nanos).map_err(ser::Error::custom)?;
        let text = match self.nanos {
            0 => format!("{instant:.0}"),
            n if n % 1_000_000 == 0 => format!("{instant:.3}"),
            n if n % 1_000 == 0 => format!("{instant:.6}"),
            _ => format!("{instant:.9}"),
        };
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let instant: jiff::Timestamp = text.parse().map_err(de::Error::custom)?;
        let mut seconds = instant.as_second();
        let mut nanos = instant.subsec_nanosecond();
        if nanos < 0 {
            seconds -= 1;
            nanos += 1_000_000_000;
        }
        Ok(Self { seconds, nanos })
    }
}

/// An optional 64-bit integer. In JSON a string; numbers are also accepted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Int64Value {
    /// The value.
    #[prost(int64, tag = "1")]
    pub value: i64,
}

impl Serialize for Int64Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.value)
    }
}

impl<'de> Deserialize<'de> for Int64Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = pbjson::private::NumberDeserialize::<i64>::deserialize(deserializer)?;
        Ok(Self { value: number.0 })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn fractions_have_zero_three_six_or_nine_digits_and_end_in_z() {
        let cases = [
            (0, "\"2030-01-02T03:04:05Z\""),
            (120_000_000, "\"2030-01-02T03:04:05.120Z\""),
            (123_456_000, "\"2030-01-02T03:04:05.123456Z\""),
            (123_456_789, "\"2030-01-02T03:04:05.123456789Z\""),
        ];
        for (nanos, text) in cases {
            let stamp = Timestamp { seconds: 1_893_553_445, nanos };
            assert_eq!(serde_json::to_string(&stamp).unwrap(), text);
            assert_eq!(serde_json::from_str::<Timestamp>(text).unwrap(), stamp);
        }
    }

    #[test]
    fn offsets_are_parsed_and_invalid_times_are_refused() {
        let stamp: Timestamp = serde_json::from_str("\"1970-01-01T02:00:00.5+02:00\"").unwrap();
        assert_eq!(stamp.as_millis(), Some(500));
        for bad in ["\"\"", "\"yesterday\"", "\"2030-13-01T00:00:00Z\"", "7"] {
            assert!(serde_json::from_str::<Timestamp>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn milliseconds_round_trip_also_before_the_epoch() {
        for ms in [-1, 0, 1, 999, 1_764_000_000_123] {
            assert_eq!(Timestamp::from_millis(ms).as_millis(), Some(ms));
        }
        assert_eq!(Timestamp { seconds: i64::MAX, nanos: 0 }.as_millis(), None);
        assert_eq!(Timestamp { seconds: 0, nanos: -1 }.as_millis(), None);
    }
}
