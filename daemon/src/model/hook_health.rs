//! The health of a hook, its recent failures, and the decisions to probe it or to switch it off. Pure functions.

use farrier_proto::store::{Hook, HookState};

use crate::clock::Millis;

/// Consecutive failures after which a hook gets only one probe per [`PROBE_MS`].
pub const DEGRADED_AFTER: u64 = 10;
/// Pause between two probes, in milliseconds.
pub const PROBE_MS: Millis = 60_000;
/// Minimum number of consecutive failures before a hook is switched off.
const DISABLE_FAILURES: u64 = 20;
/// Length of a step in which failed attempts are counted, in milliseconds.
const STEP_MS: Millis = 10 * 60_000;
/// Number of steps of an hour.
const HOUR_STEPS: usize = 6;
/// Number of steps that are kept: two hours.
const STEPS: usize = 2 * HOUR_STEPS;

/// Returns the time of the next probe of a failing hook; `None`: the hook is not failing enough to be probed.
pub fn probed_at(state: &HookState) -> Option<Millis> {
    (state.failures >= DEGRADED_AFTER).then(|| state.last_delivery_ms.saturating_add(PROBE_MS))
}

/// Counts an attempt that failed at `now_ms`.
pub fn count_failure(state: &mut HookState, now_ms: Millis) {
    let mut steps = failed_steps(state, now_ms);
    steps[STEPS - 1] = steps[STEPS - 1].saturating_add(1);
    state.failed_step = state.failed_step.max(now_ms.div_euclid(STEP_MS));
    state.failed_steps = steps.to_vec();
}

/// Returns the numbers of attempts that failed in the last hour and in the hour before, in steps of ten minutes.
pub fn recent_failures(state: &HookState, now_ms: Millis) -> (u64, u64) {
    let steps = failed_steps(state, now_ms);
    let (before, last) = steps.split_at(HOUR_STEPS);
    let sum = |steps: &[u32]| steps.iter().map(|count| u64::from(*count)).sum::<u64>();
    (sum(last), sum(before))
}

/// Returns the failed attempts of the last two hours; the last step is the current one.
fn failed_steps(state: &HookState, now_ms: Millis) -> [u32; STEPS] {
    let age = (now_ms.div_euclid(STEP_MS) - state.failed_step).max(0);
    let age = usize::try_from(age).unwrap_or(usize::MAX);
    let mut steps = [0; STEPS];
    for (index, count) in state.failed_steps.iter().rev().enumerate() {
        if let Some(at) = (STEPS - 1).checked_sub(index.saturating_add(age)) {
            steps[at] = *count;
        }
    }
    steps
}

/// Returns whether a hook has failed for so long that it is switched off. `after_ms` 0: never.
pub fn is_hopeless(state: &HookState, now_ms: Millis, after_ms: Millis) -> bool {
    after_ms > 0
        && state.failures >= DISABLE_FAILURES
        && state.failing_since_ms > 0
        && now_ms.saturating_sub(state.failing_since_ms) >= after_ms
}

/// The health of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookHealth {
    /// The last attempt succeeded.
    Ok,
    /// The last attempt failed.
    Failing,
    /// Active, but nothing was sent yet.
    Unused,
    /// A user disabled it.
    Off,
    /// The daemon disabled it, because its deliveries failed for too long or the receiver answered 410.
    Disabled,
}

impl HookHealth {
    /// Every value.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Failing, Self::Unused, Self::Off, Self::Disabled];

    /// Returns the health of the hook `row` with the state `state`.
    pub fn of(row: &Hook, state: &HookState) -> Self {
        match (row.active, state.failures) {
            (false, _) if row.disabled_reason.is_empty() => Self::Off,
            (false, _) => Self::Disabled,
            (true, 1..) => Self::Failing,
            (true, 0) if state.last_delivery_ms == 0 => Self::Unused,
            (true, 0) => Self::Ok,
        }
    }

    /// Returns the API's name of the health.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failing => "failing",
            Self::Unused => "unused",
            Self::Off => "off",
            Self::Disabled => "disabled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_attempts_are_counted_for_the_last_hour_and_the_hour_before() {
        let mut state = HookState::default();
        assert_eq!(recent_failures(&state, 0), (0, 0));
        let minute = |minute: Millis| 1_000 * 3_600_000 + minute * 60_000;
        for at in [0, 1, 59] {
            count_failure(&mut state, minute(at));
        }
        assert_eq!(recent_failures(&state, minute(59)), (3, 0));
        assert_eq!(recent_failures(&state, minute(65)), (1, 2));
        count_failure(&mut state, minute(65));
        assert_eq!(recent_failures(&state, minute(119)), (1, 3));
        assert_eq!(recent_failures(&state, minute(125)), (0, 2));
        assert_eq!(recent_failures(&state, minute(500)), (0, 0));
        count_failure(&mut state, minute(500));
        assert_eq!((recent_failures(&state, minute(500)), state.failed_steps.len()), ((1, 0), STEPS));
        // The time was set back.
        count_failure(&mut state, minute(0));
        assert_eq!(recent_failures(&state, minute(500)), (2, 0));
    }

    #[test]
    fn a_failing_hook_is_probed_and_later_disabled() {
        let state = HookState { failures: 9, last_delivery_ms: 1_000, failing_since_ms: 1, ..HookState::default() };
        assert_eq!(probed_at(&state), None);
        let state = HookState { failures: 10, ..state };
        assert_eq!(probed_at(&state), Some(61_000));
        assert!(!is_hopeless(&state, 1_000_000, 500));
        let state = HookState { failures: 20, ..state };
        assert!(is_hopeless(&state, 501, 500) && !is_hopeless(&state, 500, 500) && !is_hopeless(&state, i64::MAX, 0));
    }
}
