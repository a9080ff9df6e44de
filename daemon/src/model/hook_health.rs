//! Decides from the recent failures of a hook whether to probe it or to switch it off. Pure functions.

use farrier_proto::store::HookState;

use crate::clock::Millis;

/// Consecutive failures after which a hook gets only one probe per [`PROBE_MS`].
pub const DEGRADED_AFTER: u64 = 10;
/// Pause between two probes, in milliseconds.
pub const PROBE_MS: Millis = 60_000;
/// Minimum number of consecutive failures before a hook is switched off.
const DISABLE_FAILURES: u64 = 20;

/// Returns the time of the next probe of a failing hook; `None`: the hook is not failing enough to be probed.
pub fn probed_at(state: &HookState) -> Option<Millis> {
    (state.failures >= DEGRADED_AFTER).then(|| state.last_delivery_ms.saturating_add(PROBE_MS))
}

/// Returns whether a hook has failed for so long that it is switched off. `after_ms` 0: never.
pub fn is_hopeless(state: &HookState, now_ms: Millis, after_ms: Millis) -> bool {
    after_ms > 0
        && state.failures >= DISABLE_FAILURES
        && state.failing_since_ms > 0
        && now_ms.saturating_sub(state.failing_since_ms) >= after_ms
}

#[cfg(test)]
mod tests {
    use super::*;

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
