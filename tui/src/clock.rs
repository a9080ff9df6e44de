//! The time, read in one place.

use jiff::Timestamp;

/// Now.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the time")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
