//! The time, read in one place.

use jiff::{Timestamp, tz::TimeZone};

/// Now.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the time")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// Where the user's clock hangs; UTC where that is not known.
pub(crate) fn zone() -> TimeZone {
    TimeZone::system()
}
