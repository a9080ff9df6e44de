//! Statistics of waiting deliveries, and detection of deliveries that are not sent.

use farrier_proto::store::{Delivery, HookState};

use crate::{
    clock::Millis,
    model::hook_health,
    service::{Context, Error},
    store::{Read, deliveries, fan_outs, hooks},
};

/// Maximum count of queued deliveries, of requested attempts, and of retries.
pub const COUNT_MAX: u64 = 100_000;
/// Maximum number of fan-outs whose events are counted.
const FAN_OUTS_MAX: usize = 100_000;
/// Maximum number of hooks that are read for metrics. Reading them takes at most ten milliseconds.
const HOOKS_MAX: usize = 1_000;
/// Maximum number of hooks that are read for the health check, which needs no authentication.
const HOOKS_MAX_FOR_HEALTH: usize = 50;
/// A due delivery is overdue after this time. An attempt takes at most a minute, and other hooks may be served
/// first.
const STUCK_MS: Millis = 5 * 60_000;

/// Statistics of waiting deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingStats {
    /// Deliveries that wait for an attempt.
    pub pending: u64,
    /// Events whose deliveries are not all written, counted once for each scope with hooks.
    pub fan_out_events: u64,
    /// Time since the oldest due delivery became due.
    pub oldest_due_ms: Millis,
    /// Number of failing hooks that are only probed.
    pub probed_hooks: u64,
}

/// Returns the statistics of waiting deliveries.
pub async fn waiting(context: &Context) -> Result<WaitingStats, Error> {
    let snapshot = context.store.read().await?;
    let pending = deliveries::count_pending(&snapshot, COUNT_MAX).await?;
    let fan_out_events = fan_out_events(&snapshot).await?;
    let states = hooks::states(&snapshot, HOOKS_MAX).await?.into_iter();
    let failing: Vec<u64> =
        states.filter(|(_, state)| hook_health::probed_at(state).is_some()).map(|(hook, _)| hook).collect();
    let probed = hooks::many(&snapshot, &failing).await?.iter().filter(|hook| hook.active).count();
    drop(snapshot);
    let due = due(context, HOOKS_MAX).await?;
    let oldest = due.iter().map(|due| due.since_ms).min().unwrap_or(Millis::MAX);
    let oldest_due_ms = context.now_ms().saturating_sub(oldest).max(0);
    Ok(WaitingStats { pending, fan_out_events, oldest_due_ms, probed_hooks: probed as u64 })
}

/// Returns the number of events whose deliveries are not all written, counted once for each scope with hooks.
pub async fn fan_out_events(read: &impl Read) -> Result<u64, Error> {
    Ok(fan_outs::events_left(read, FAN_OUTS_MAX).await?)
}

/// Returns whether a delivery has been due for too long although nothing was sent to its receiver meanwhile.
pub async fn stuck(context: &Context) -> Result<bool, Error> {
    let started_ms = context.serving.started_ms;
    let limit = context.now_ms().saturating_sub(STUCK_MS);
    Ok(due(context, HOOKS_MAX_FOR_HEALTH).await?.iter().any(|due| due.idle_since_ms(started_ms) < limit))
}

/// A due delivery or retry.
struct DueDelivery {
    since_ms: Millis,
    /// Time of the last attempt of the same hook.
    last_attempt_ms: Millis,
}

impl DueDelivery {
    /// Returns since when the delivery has been due while nothing was sent to its receiver.
    fn idle_since_ms(&self, started_ms: Millis) -> Millis {
        self.since_ms.max(self.last_attempt_ms).max(started_ms)
    }
}

/// Returns the first due deliveries in the queues of at most `hooks_max` hooks, and the first due retry.
async fn due(context: &Context, hooks_max: usize) -> Result<Vec<DueDelivery>, Error> {
    let (snapshot, now) = (context.store.read().await?, context.now_ms());
    let mut all = Vec::new();
    for row in deliveries::first_in_queues(&snapshot, hooks_max).await? {
        let state = hooks::state(&snapshot, row.hook_id).await?;
        let since = due_since(&row, &state).filter(|at| *at <= now);
        all.extend(since.map(|since_ms| DueDelivery { since_ms, last_attempt_ms: state.last_delivery_ms }));
    }
    let retry = deliveries::next_retry_ms(&snapshot, |_| true).await?.filter(|at| *at <= now);
    // The retry is not in a queue yet, so the last attempt of its hook does not matter.
    all.extend(retry.map(|since_ms| DueDelivery { since_ms, last_attempt_ms: 0 }));
    Ok(all)
}

/// Returns since when the first delivery of a queue could have been sent. `None` for a redelivery, because the
/// time of its request is not stored.
fn due_since(row: &Delivery, state: &HookState) -> Option<Millis> {
    let is_redelivery = row.attempts > 0 && row.next_attempt_ms == 0;
    let since = row.created_ms.max(row.next_attempt_ms).max(hook_health::probed_at(state).unwrap_or(0));
    (!is_redelivery).then_some(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_due_time_respects_retries_and_probes_and_ignores_redeliveries() {
        let fresh = Delivery { created_ms: 1_000, ..Delivery::default() };
        let healthy = HookState::default();
        assert_eq!(due_since(&fresh, &healthy), Some(1_000));
        let retried = Delivery { attempts: 1, next_attempt_ms: 6_000, ..fresh.clone() };
        assert_eq!(due_since(&retried, &healthy), Some(6_000));
        let failing = HookState { failures: hook_health::DEGRADED_AFTER, last_delivery_ms: 5_000, ..healthy };
        assert_eq!(due_since(&fresh, &failing), Some(5_000 + hook_health::PROBE_MS));
        let redelivered = Delivery { attempts: 8, next_attempt_ms: 0, ..fresh };
        assert_eq!(due_since(&redelivered, &failing), None);
    }

    #[test]
    fn a_hook_with_recent_attempts_is_not_stuck() {
        let due = DueDelivery { since_ms: 10, last_attempt_ms: 500 };
        assert_eq!(due.idle_since_ms(0), 500);
        assert_eq!(due.idle_since_ms(900), 900, "time before the start does not count");
    }
}
