//! Decides what to request: the list, older deliveries, and the delivery under the cursor.

use super::{Deliveries, NEAR, ROWS_MAX, STATES};
use crate::ui::{net::Ask, screens::Screen as _, world::Env};

impl Deliveries {
    /// The request for the list with the chosen filters.
    pub(super) fn ask(&self) -> Ask {
        let filter = self.rows.list.filter();
        let of_filter = |word: &str| STATES[1..].iter().find(|(shown, _)| shown.starts_with(word)).map(|(_, api)| *api);
        let state = filter.must_hold("state").and_then(|word| match word {
            "pending" => Some("pending"),
            "success" => Some("success"),
            word => of_filter(word),
        });
        let event = filter.must_hold("event").filter(|word| self.event.is_empty() && self.events.contains(*word));
        Ask::Deliveries {
            status: if self.state == 0 { state.unwrap_or_default() } else { STATES[self.state].1 },
            hook: self.hook.or_else(|| u64::try_from(filter.must_be("hook").0?).ok()),
            event: event.map_or_else(|| self.event.clone(), str::to_owned),
            since: self.since.clone(),
            rows: self.wanted,
        }
    }

    /// Whether older deliveries exist that are not loaded.
    pub(super) fn is_cut(&self) -> bool {
        self.rows.has_all() && self.rows.list.rows().len() >= self.wanted
    }

    /// Loads older deliveries when the cursor comes near the last row or a filter leaves few rows.
    pub(super) fn fetch_on(&mut self, env: &mut Env) {
        if self.is_cut() && !self.rows.is_waiting() && self.rows.list.below() < NEAR && self.wanted < ROWS_MAX {
            self.wanted = (self.wanted * 2).min(ROWS_MAX);
            self.refresh(env);
        }
    }

    /// Requests the delivery under the cursor while the inspector is open; one request at a time.
    pub(super) fn look(&mut self, again: bool, env: &mut Env) {
        let Some(delivery) = self.rows.list.current().filter(|_| self.reading || env.world.split()) else { return };
        let known = self.inspector.detail.as_ref().is_some_and(|old| old.delivery == *delivery);
        if self.pending.is_none() && (again || !known) && !env.is_passing() {
            self.pending = Some(delivery.guid.clone());
            env.ask(Ask::Delivery(delivery.guid.clone()));
        }
    }
}
