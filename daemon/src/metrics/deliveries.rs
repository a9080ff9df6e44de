//! Counters of delivery attempts and finished deliveries since the start of the daemon.

use prometheus::{IntCounter, Registry};

use super::{VALID, counters, register};
use crate::store::deliveries::{NextStep, Outcome};

/// Counts delivery attempts and finished deliveries.
#[derive(Debug)]
pub struct DeliveryMetrics {
    succeeded_attempts: IntCounter,
    failed_attempts: IntCounter,
    succeeded: IntCounter,
    failed: IntCounter,
    cancelled: IntCounter,
    disabled_hooks: IntCounter,
}

impl DeliveryMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let attempts =
            counters(registry, "farrier_delivery_attempts_total", "Delivery attempts, by result.", &["result"]);
        let ended = counters(registry, "farrier_deliveries_total", "Finished deliveries, by state.", &["state"]);
        let help = "Hooks that were disabled for failing.";
        let disabled_hooks = IntCounter::new("farrier_hooks_switched_off_total", help).expect(VALID);
        register(registry, &disabled_hooks);
        Self {
            succeeded_attempts: attempts.with_label_values(&["success"]),
            failed_attempts: attempts.with_label_values(&["failure"]),
            succeeded: ended.with_label_values(&["success"]),
            failed: ended.with_label_values(&["failed"]),
            cancelled: ended.with_label_values(&["cancelled"]),
            disabled_hooks,
        }
    }

    /// Counts a recorded outcome.
    pub(super) fn count(&self, outcome: &Outcome) {
        if let Some(attempt) = &outcome.attempt {
            if attempt.error_class.is_empty() { &self.succeeded_attempts } else { &self.failed_attempts }.inc();
        }
        match outcome.next {
            NextStep::Done => self.succeeded.inc(),
            NextStep::GiveUp | NextStep::Gone => self.failed.inc(),
            NextStep::Cancel(_) => self.cancelled.inc(),
            NextStep::Again { .. } => {}
        }
    }

    /// Counts hooks that were disabled because they failed.
    pub fn count_disabled_hooks(&self, hooks: usize) {
        self.disabled_hooks.inc_by(hooks as u64);
    }
}
