//! What deletions say about restoring.

use farrier_common::client::Client;
use jiff::{SignedDuration, tz::TimeZone};

use crate::{clock, output::Output};

/// Says on standard error until when the deleted object can be restored, and with which command. Says
/// nothing if the daemon does not tell.
pub(super) async fn note(client: &Client, command: &str, output: &Output) {
    let Ok(status) = client.status().await else { return };
    let text = match until(status.restore_days) {
        Some(date) => format!("An administrator can restore it until {date} with `{command}`."),
        None => return,
    };
    // The deletion is done; that its hint cannot be written is no failure.
    let _ = output.note(&text);
}

/// The day until which something that is deleted now can be restored; `None`: the deletion is permanent.
fn until(days: i64) -> Option<jiff::civil::Date> {
    let kept = SignedDuration::from_hours(24_i64.checked_mul(days).filter(|_| days > 0)?);
    Some(clock::now().checked_add(kept).ok()?.to_zoned(TimeZone::UTC).date())
}
