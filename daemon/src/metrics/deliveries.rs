//! Counters of attempts and deliveries since the start of the daemon.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::deliveries::{NextStep, Outcome};

/// Counts delivery attempts and finished deliveries.
#[derive(Debug, Default)]
pub struct DeliveryMetrics {
    arrived: AtomicU64,
    missed: AtomicU64,
    success: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
    switched_off: AtomicU64,
}

impl DeliveryMetrics {
    /// Counts a recorded outcome.
    pub(super) fn count(&self, outcome: &Outcome) {
        if let Some(attempt) = &outcome.attempt {
            add(if attempt.error_class.is_empty() { &self.arrived } else { &self.missed }, 1);
        }
        match outcome.then {
            NextStep::Done => add(&self.success, 1),
            NextStep::GiveUp | NextStep::Gone => add(&self.failed, 1),
            NextStep::Cancel(_) => add(&self.cancelled, 1),
            NextStep::Again { .. } => {}
        }
    }

    /// Counts hooks that were switched off because they failed.
    pub fn hooks_off(&self, hooks: usize) {
        add(&self.switched_off, hooks as u64);
    }

    /// Returns the number of attempts for each result.
    pub fn attempts(&self) -> [(&'static str, u64); 2] {
        [("success", read(&self.arrived)), ("failure", read(&self.missed))]
    }

    /// Returns the number of finished deliveries for each state.
    pub fn ended(&self) -> [(&'static str, u64); 3] {
        [("success", read(&self.success)), ("failed", read(&self.failed)), ("cancelled", read(&self.cancelled))]
    }

    /// Returns the number of hooks that were switched off because they failed.
    pub fn switched_off(&self) -> u64 {
        read(&self.switched_off)
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
