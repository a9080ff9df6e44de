//! Computes when artifacts expire.

use crate::clock::Millis;

/// Milliseconds in a day.
const DAY_MS: Millis = 86_400_000;

/// The requested expiry time is in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expires_at is in the past")]
pub struct ExpiryInPast;

/// Returns the expiry time of a new artifact: the requested one, at most `max_days` from now, or `default_days` from
/// now if the client requested none. All times are milliseconds since the epoch.
pub fn decide(
    now: Millis,
    requested: Option<Millis>,
    default_days: u32,
    max_days: u32,
) -> Result<Millis, ExpiryInPast> {
    let latest = now.saturating_add(Millis::from(max_days) * DAY_MS);
    match requested {
        Some(end) if end <= now => Err(ExpiryInPast),
        Some(end) => Ok(end.min(latest)),
        None => Ok(now.saturating_add(Millis::from(default_days) * DAY_MS).min(latest)),
    }
}

/// Why a user cannot set this expiry time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpiryError {
    /// The time is not in the future.
    #[error("must be in the future")]
    Past,
    /// The time is later than the limit allows.
    #[error("must be at most {max_days} days from now")]
    TooLate {
        /// Longest lifetime of an artifact, in days.
        max_days: u32,
    },
}

/// Checks the expiry time that a user sets on an existing artifact. Unlike the request of an upload, it is accepted
/// unchanged or refused: silently shortening it would surprise the user.
pub fn choose(now: Millis, end: Millis, max_days: u32) -> Result<Millis, ExpiryError> {
    let latest = now.saturating_add(Millis::from(max_days) * DAY_MS);
    match end {
        end if end <= now => Err(ExpiryError::Past),
        end if end > latest => Err(ExpiryError::TooLate { max_days }),
        end => Ok(end),
    }
}

/// Returns the time `days` from now.
pub fn in_days(now: Millis, days: i64) -> Millis {
    now.saturating_add(days.saturating_mul(DAY_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requested_expiry_is_capped_and_defaulted_and_past_ones_are_refused() {
        let days = |n: Millis| n * DAY_MS;
        assert_eq!(decide(10, Some(10 + days(5)), 90, 400), Ok(10 + days(5)));
        assert_eq!(decide(10, Some(10 + days(500)), 90, 400), Ok(10 + days(400)));
        assert_eq!(decide(10, None, 90, 400), Ok(10 + days(90)));
        assert_eq!(decide(10, None, 90, 30), Ok(10 + days(30)));
        assert_eq!(decide(10, Some(10), 90, 400), Err(ExpiryInPast));
        assert_eq!(decide(10, Some(Millis::MAX), 90, 400), Ok(10 + days(400)));
    }

    #[test]
    fn a_chosen_expiry_is_accepted_unchanged_or_refused() {
        assert_eq!(choose(10, in_days(10, 5), 5), Ok(10 + 5 * DAY_MS));
        assert_eq!(choose(10, in_days(10, 5) + 1, 5), Err(ExpiryError::TooLate { max_days: 5 }));
        assert_eq!(choose(10, in_days(10, i64::MAX), 5), Err(ExpiryError::TooLate { max_days: 5 }));
        for past in [10, -5, in_days(10, 0), in_days(10, i64::MIN)] {
            assert_eq!(choose(10, past, 5), Err(ExpiryError::Past), "{past}");
        }
    }
}
