//! Reads the time and the time zone. No other module reads the clock.

use jiff::{Timestamp, tz::TimeZone};

/// Returns the current time.
#[expect(clippy::disallowed_methods, reason = "only this module reads the time")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// Returns the user's time zone; UTC if it is unknown.
pub(crate) fn zone() -> TimeZone {
    TimeZone::system()
}
