//! What comes after an attempt: pure decisions.

use farrier_proto::store::HookState;

use crate::clock::Millis;

/// Failures in a row after which a hook is only probed.
pub const DEGRADED_AFTER: u64 = 10;
/// Pause between two probes.
pub const PROBE_MS: Millis = 60_000;
/// Failures that a hook must have before it is switched off for failing long.
const DISABLE_FAILURES: u64 = 20;
/// Longest pause that a receiver may ask for.
const RETRY_AFTER_MAX_MS: Millis = 24 * 3_600_000;
/// A receiver that says that the request is wrong is not asked again before this step of the schedule.
const PATIENT_STEP: usize = 2;
/// By how much chance moves a pause, as a part of it.
const JITTER: f64 = 0.2;

/// How an attempt ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// 0: no answer came.
    pub status: u16,
    /// `dns`, `connect`, `tls`, `timeout`, `blocked`, `redirect`, `http`, `settings`; empty: success.
    pub class: &'static str,
    /// How long the receiver wants to be left alone.
    pub retry_after_ms: Option<Millis>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It has arrived.
    Done,
    /// Another attempt after this pause.
    Again {
        /// Milliseconds from now.
        after_ms: Millis,
    },
    /// No further attempt.
    GiveUp,
    /// No further attempt, and the receiver wants none of the hook any more.
    Gone,
}

/// Decides after attempt number `attempts`. `chance` lies between 0 and 1.
pub fn next(ended: &Ended, attempts: u32, schedule_secs: &[u64], chance: f64) -> Next {
    if ended.class.is_empty() {
        return Next::Done;
    }
    if ended.status == 410 {
        return Next::Gone;
    }
    let made = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    if made >= schedule_secs.len() {
        return Next::GiveUp;
    }
    let step = if lasts(ended) { made.max(PATIENT_STEP).min(schedule_secs.len() - 1) } else { made };
    let pause_ms = i64::try_from(schedule_secs[step]).unwrap_or(i64::MAX).saturating_mul(1_000);
    let factor = 1.0 - JITTER + 2.0 * JITTER * chance.clamp(0.0, 1.0);
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a pause is no exact number")]
    let pause_ms = (pause_ms as f64 * factor) as i64;
    let wanted = if matches!(ended.status, 429 | 503) { ended.retry_after_ms } else { None };
    Next::Again { after_ms: pause_ms.max(wanted.unwrap_or(0).clamp(0, RETRY_AFTER_MAX_MS)) }
}

/// Whether the same request is likely to fail the same way for a while.
fn lasts(ended: &Ended) -> bool {
    matches!(ended.status, 400 | 401 | 403 | 404 | 413 | 422)
        || matches!(ended.class, "blocked" | "redirect" | "settings")
}

/// Until when a hook in this state is left alone; `None`: it is well enough.
pub fn probed_at(state: &HookState) -> Option<Millis> {
    (state.failures >= DEGRADED_AFTER).then(|| state.last_delivery_ms.saturating_add(PROBE_MS))
}

/// Whether a hook in this state is to be switched off. `after_ms` 0: never.
pub fn is_hopeless(state: &HookState, now_ms: Millis, after_ms: Millis) -> bool {
    after_ms > 0
        && state.failures >= DISABLE_FAILURES
        && state.failing_since_ms > 0
        && now_ms.saturating_sub(state.failing_since_ms) >= after_ms
}

/// Reads a `Retry-After` header: seconds, or a date.
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

    fn failed(status: u16, class: &'static str) -> Ended {
        Ended { status, class, retry_after_ms: None }
    }

    #[test]
    fn the_schedule_is_followed_to_its_end() {
        for (attempts, secs) in [(1, 5), (2, 300), (3, 1_800), (4, 7_200)] {
            let again = |chance| next(&failed(500, "http"), attempts, SCHEDULE, chance);
            assert_eq!(again(0.5), Next::Again { after_ms: secs * 1_000 });
            assert_eq!(again(0.0), Next::Again { after_ms: secs * 800 });
            assert_eq!(again(1.0), Next::Again { after_ms: secs * 1_200 });
        }
        assert_eq!(next(&failed(500, "http"), 5, SCHEDULE, 0.5), Next::GiveUp);
        assert_eq!(next(&failed(0, "timeout"), 1, &[], 0.5), Next::GiveUp);
        assert_eq!(next(&Ended { status: 204, ..Ended::default() }, 9, SCHEDULE, 0.5), Next::Done);
    }

    #[test]
    fn what_lasts_is_asked_again_later_and_what_is_gone_never() {
        for ended in [failed(404, "http"), failed(422, "http"), failed(0, "blocked"), failed(302, "redirect")] {
            assert_eq!(next(&ended, 1, SCHEDULE, 0.5), Next::Again { after_ms: 1_800_000 }, "{ended:?}");
            assert_eq!(next(&ended, 4, SCHEDULE, 0.5), Next::Again { after_ms: 7_200_000 }, "{ended:?}");
            assert_eq!(next(&ended, 1, &[1], 0.5), Next::Again { after_ms: 1_000 }, "{ended:?}");
        }
        assert_eq!(next(&failed(410, "http"), 1, SCHEDULE, 0.5), Next::Gone);
    }

    #[test]
    fn a_receiver_may_ask_for_a_longer_pause_up_to_a_day() {
        for (status, asked, expected) in
            [(429, 60_000, 60_000), (503, 1, 5_000), (429, i64::MAX, RETRY_AFTER_MAX_MS), (500, 60_000, 5_000)]
        {
            let ended = Ended { retry_after_ms: Some(asked), ..failed(status, "http") };
            assert_eq!(next(&ended, 1, SCHEDULE, 0.5), Next::Again { after_ms: expected }, "{status} {asked}");
        }
        assert_eq!(retry_after_ms("3", 0), Some(3_000));
        assert_eq!(retry_after_ms("-3", 0), Some(0));
        assert_eq!(retry_after_ms("Thu, 01 Jan 1970 00:01:00 GMT", 10_000), Some(50_000));
        assert_eq!(retry_after_ms("soon", 0), None);
    }

    #[test]
    fn a_failing_hook_is_probed_and_a_hopeless_one_switched_off() {
        let state = HookState { failures: 9, last_delivery_ms: 1_000, failing_since_ms: 1, ..HookState::default() };
        assert_eq!(probed_at(&state), None);
        let state = HookState { failures: 10, ..state };
        assert_eq!(probed_at(&state), Some(61_000));
        assert!(!is_hopeless(&state, 1_000_000, 500));
        let state = HookState { failures: 20, ..state };
        assert!(is_hopeless(&state, 501, 500) && !is_hopeless(&state, 500, 500) && !is_hopeless(&state, i64::MAX, 0));
    }
}
