//! Decides what follows an attempt: another one, success, or the end. Pure functions.

use crate::{clock::Millis, model::delivery_failure::FailureClass};

/// Longest pause that a receiver can request with `Retry-After`.
const RETRY_AFTER_MAX_MS: Millis = 24 * 3_600_000;
/// First step of the schedule for failures that are likely to last, for example 404.
const PATIENT_STEP: usize = 2;
/// Jitter, as a fraction of the pause.
const JITTER: f64 = 0.2;

/// The result of an attempt, as far as the decision needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptResult {
    /// The HTTP status; 0: no response.
    pub status: u16,
    /// The class of the failure; `None`: success.
    pub class: Option<FailureClass>,
    /// The pause that the receiver requested with `Retry-After`, milliseconds.
    pub retry_after_ms: Option<Millis>,
}

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Success.
    Done,
    /// Another attempt after a pause.
    Again {
        /// Milliseconds from now.
        after_ms: Millis,
    },
    /// No further attempt.
    GiveUp,
    /// No further attempt of any delivery: the receiver answered 410, so the hook is switched off.
    Gone,
}

/// Decides what follows attempt number `attempts` (from 1). `chance` is a random number between 0 and 1 for the jitter.
pub fn next(result: &AttemptResult, attempts: u32, schedule_secs: &[u64], chance: f64) -> Next {
    if result.class.is_none() {
        return Next::Done;
    }
    if result.status == 410 {
        return Next::Gone;
    }
    let retries = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    if retries >= schedule_secs.len() {
        return Next::GiveUp;
    }
    let step = if is_persistent(result) { retries.max(PATIENT_STEP).min(schedule_secs.len() - 1) } else { retries };
    let pause_ms = i64::try_from(schedule_secs[step]).unwrap_or(i64::MAX).saturating_mul(1_000);
    let factor = 1.0 - JITTER + 2.0 * JITTER * chance.clamp(0.0, 1.0);
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a pause need not be exact")]
    let pause_ms = (pause_ms as f64 * factor) as i64;
    let requested_ms = if matches!(result.status, 429 | 503) { result.retry_after_ms } else { None };
    Next::Again { after_ms: pause_ms.max(requested_ms.unwrap_or(0).clamp(0, RETRY_AFTER_MAX_MS)) }
}

/// Returns whether a repetition of the request is likely to fail in the same way for some time.
fn is_persistent(result: &AttemptResult) -> bool {
    matches!(result.status, 400 | 401 | 403 | 404 | 413 | 422)
        || matches!(result.class, Some(FailureClass::Blocked | FailureClass::Redirect | FailureClass::Settings))
}

/// Parses a `Retry-After` header (seconds or a date) to milliseconds from now.
pub fn retry_after_ms(value: &str, now_ms: Millis) -> Option<Millis> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<i64>() {
        return Some(seconds.max(0).saturating_mul(1_000));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?;
    Some((date.timestamp().as_millisecond() - now_ms).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULE: &[u64] = &[5, 300, 1_800, 7_200];

    fn failed(status: u16, class: FailureClass) -> AttemptResult {
        AttemptResult { status, class: Some(class), retry_after_ms: None }
    }

    #[test]
    fn retries_follow_the_schedule_and_then_stop() {
        for (attempts, secs) in [(1, 5), (2, 300), (3, 1_800), (4, 7_200)] {
            let again = |chance| next(&failed(500, FailureClass::Http), attempts, SCHEDULE, chance);
            assert_eq!(again(0.5), Next::Again { after_ms: secs * 1_000 });
            assert_eq!(again(0.0), Next::Again { after_ms: secs * 800 });
            assert_eq!(again(1.0), Next::Again { after_ms: secs * 1_200 });
        }
        assert_eq!(next(&failed(500, FailureClass::Http), 5, SCHEDULE, 0.5), Next::GiveUp);
        assert_eq!(next(&failed(0, FailureClass::Timeout), 1, &[], 0.5), Next::GiveUp);
        assert_eq!(next(&AttemptResult { status: 204, ..AttemptResult::default() }, 9, SCHEDULE, 0.5), Next::Done);
    }

    #[test]
    fn permanent_failures_are_retried_later_and_410_is_not_retried() {
        for result in [
            failed(404, FailureClass::Http),
            failed(422, FailureClass::Http),
            failed(0, FailureClass::Blocked),
            failed(302, FailureClass::Redirect),
        ] {
            assert_eq!(next(&result, 1, SCHEDULE, 0.5), Next::Again { after_ms: 1_800_000 }, "{result:?}");
            assert_eq!(next(&result, 4, SCHEDULE, 0.5), Next::Again { after_ms: 7_200_000 }, "{result:?}");
            assert_eq!(next(&result, 1, &[1], 0.5), Next::Again { after_ms: 1_000 }, "{result:?}");
        }
        assert_eq!(next(&failed(410, FailureClass::Http), 1, SCHEDULE, 0.5), Next::Gone);
    }

    #[test]
    fn retry_after_extends_the_pause_of_429_and_503_up_to_a_day() {
        for (status, requested_ms, expected) in
            [(429, 60_000, 60_000), (503, 1, 5_000), (429, i64::MAX, RETRY_AFTER_MAX_MS), (500, 60_000, 5_000)]
        {
            let result = AttemptResult { retry_after_ms: Some(requested_ms), ..failed(status, FailureClass::Http) };
            assert_eq!(next(&result, 1, SCHEDULE, 0.5), Next::Again { after_ms: expected }, "{status} {requested_ms}");
        }
        assert_eq!(retry_after_ms("3", 0), Some(3_000));
        assert_eq!(retry_after_ms("-3", 0), Some(0));
        assert_eq!(retry_after_ms("Thu, 01 Jan 1970 00:01:00 GMT", 10_000), Some(50_000));
        assert_eq!(retry_after_ms("soon", 0), None);
    }
}
