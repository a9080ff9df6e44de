//! The health of a hook, and the decisions to probe it or to switch it off. Pure functions.

use farrier_proto::store::{Hook, HookState};

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
