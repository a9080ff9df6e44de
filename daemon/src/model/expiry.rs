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

/// A chosen end that an artifact cannot get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEnd {
    /// It is over already.
    #[error("must lie in the future")]
    Past,
    /// Artifacts do not live as long.
    #[error("must be at most {max_days} days from now")]
    TooLate {
        /// The longest life, in days.
        max_days: u32,
    },
}

/// The end that somebody chose for an artifact that there is. Unlike what an upload asks for it is
/// taken as it is or refused: who chooses must not get something else.
pub fn choose(now: Millis, end: Millis, max_days: u32) -> Result<Millis, NoEnd> {
    let latest = now.saturating_add(Millis::from(max_days) * DAY_MS);
    match end {
        end if end <= now => Err(NoEnd::Past),
        end if end > latest => Err(NoEnd::TooLate { max_days }),
        end => Ok(end),
    }
}

/// The moment `days` from now.
pub fn in_days(now: Millis, days: i64) -> Millis {
    now.saturating_add(days.saturating_mul(DAY_MS))
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

    #[test]
    fn a_chosen_end_is_taken_or_refused() {
        assert_eq!(choose(10, in_days(10, 5), 5), Ok(10 + 5 * DAY_MS));
        assert_eq!(choose(10, in_days(10, 5) + 1, 5), Err(NoEnd::TooLate { max_days: 5 }));
        assert_eq!(choose(10, in_days(10, i64::MAX), 5), Err(NoEnd::TooLate { max_days: 5 }));
        for past in [10, -5, in_days(10, 0), in_days(10, i64::MIN)] {
            assert_eq!(choose(10, past, 5), Err(NoEnd::Past), "{past}");
        }
    }
}
