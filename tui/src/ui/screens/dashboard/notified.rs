//! The hooks that were notified of an event, and the results.

use std::collections::{BTreeSet, HashMap};

use crate::ui::{bulk::counted, delivery::DeliverySummary};

/// The hooks with deliveries of an event, or of several events, by result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NotifiedHooks {
    succeeded: BTreeSet<i64>,
    failed: BTreeSet<i64>,
    pending: BTreeSet<i64>,
}

impl NotifiedHooks {
    /// Returns the hooks by event. Deliveries of an older daemon do not name their event.
    pub(super) fn by_event(deliveries: &[DeliverySummary]) -> HashMap<i64, Self> {
        let mut results: HashMap<i64, Self> = HashMap::new();
        for delivery in deliveries {
            let Some(event) = delivery.event_id() else { continue };
            let result = results.entry(event).or_default();
            let hooks = match delivery.state() {
                "success" => &mut result.succeeded,
                "failed" => &mut result.failed,
                "pending" => &mut result.pending,
                _ => continue,
            };
            hooks.insert(delivery.hook);
        }
        results
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.succeeded.extend(&other.succeeded);
        self.failed.extend(&other.failed);
        self.pending.extend(&other.pending);
    }

    pub(super) fn has_failures(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Formats `2 hooks notified, 1 failed`; empty without deliveries. A hook counts once: as failed if one of its
    /// deliveries failed, else as waiting if one waits.
    pub(super) fn text(&self) -> String {
        let waiting = self.pending.difference(&self.failed).count();
        let notified =
            self.succeeded.iter().filter(|hook| !self.failed.contains(*hook) && !self.pending.contains(*hook));
        let mut parts = Vec::new();
        for (count, word) in [(notified.count(), "notified"), (self.failed.len(), "failed"), (waiting, "waiting")] {
            if count > 0 {
                let subject = if parts.is_empty() { counted(count, "hook") } else { count.to_string() };
                parts.push(format!("{subject} {word}"));
            }
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use farrier_common::api::Delivery;

    use super::*;

    fn delivery(event: i64, hook_id: i64, state: &str) -> DeliverySummary {
        DeliverySummary::of(&Delivery { event_id: Some(event), hook_id, state: state.into(), ..Delivery::default() })
    }

    #[test]
    fn a_hook_with_several_deliveries_counts_once() {
        let all = [
            delivery(1, 1, "success"),
            delivery(1, 1, "failed"),
            delivery(1, 2, "success"),
            delivery(1, 2, "success"),
            delivery(1, 3, "success"),
            delivery(1, 3, "pending"),
        ];
        let results = NotifiedHooks::by_event(&all);
        assert_eq!(results[&1].text(), "1 hook notified, 1 failed, 1 waiting");
    }
}
