//! When an artifact's time is over.

use crate::clock::Millis;

/// Milliseconds of a day.
const DAY_MS: Millis = 86_400_000;

/// A requested end that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expires_at lies in the past")]
pub struct InPast;

/// The end that an artifact gets: what was `requested`, at most `max_days` from now, and
/// `default_days` when nothing was. All times in milliseconds since the epoch.
pub fn decide(now: Millis, requested: Option<Millis>, default_days: u32, max_days: u32) -> Result<Millis, InPast> {
    let latest = now.saturating_add(Millis::from(max_days) * DAY_MS);
    match requested {
        Some(end) if end <= now => Err(InPast),
        Some(end) => Ok(end.min(latest)),
        None => Ok(now.saturating_add(Millis::from(default_days) * DAY_MS).min(latest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asked_capped_default_and_past() {
        let days = |n: Millis| n * DAY_MS;
        assert_eq!(decide(10, Some(10 + days(5)), 90, 400), Ok(10 + days(5)));
        assert_eq!(decide(10, Some(10 + days(500)), 90, 400), Ok(10 + days(400)));
        assert_eq!(decide(10, None, 90, 400), Ok(10 + days(90)));
        assert_eq!(decide(10, None, 90, 30), Ok(10 + days(30)));
        assert_eq!(decide(10, Some(10), 90, 400), Err(InPast));
        assert_eq!(decide(10, Some(Millis::MAX), 90, 400), Ok(10 + days(400)));
    }
}
