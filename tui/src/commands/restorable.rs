//! Explains how a deleted object can be restored.

use farrier_common::client::Client;
use jiff::{SignedDuration, tz::TimeZone};

use crate::{clock, output::Output};

/// Returns until when and with which command an object that is deleted now can be restored; `None` if it
/// cannot, or if the daemon does not report it.
pub(super) async fn hint(client: &Client, command: &str) -> Option<String> {
    let date = until(client.status().await.ok()?.restore_days)?;
    Some(format!("An administrator can restore it until {date} with `{command}`."))
}

/// Prints the hint on standard error after a deletion.
pub(super) fn note(hint: Option<&str>, output: &Output) {
    if let Some(hint) = hint {
        let _ = output.note(hint); // the object is deleted even if the hint cannot be written
    }
}

/// Returns the day until which an object that is deleted now can be restored; `None` if the deletion is
/// permanent.
fn until(days: i64) -> Option<jiff::civil::Date> {
    let retention = SignedDuration::from_hours(24_i64.checked_mul(days).filter(|_| days > 0)?);
    Some(clock::now().checked_add(retention).ok()?.to_zoned(TimeZone::UTC).date())
}
