//! The place of the deliveries screen: the chosen deliveries, the delivery, and the tab and the line in the inspector.

use super::{Deliveries, STATES};
use crate::ui::{list::ListView, net::DELIVERIES_STEP, place::ScreenPlace, screens::places::Placed, world::Env};

impl Placed for Deliveries {
    fn place(&self) -> ScreenPlace {
        let place = ScreenPlace {
            list: ListView::place(&self.rows),
            tab: self.state,
            is_open: self.reading,
            ..ScreenPlace::default()
        };
        let hook = self.hook.map(|hook| hook.to_string()).unwrap_or_default();
        let place = place
            .limited("hook", hook)
            .limited("event", self.event.clone())
            .limited("reason", self.reason.clone())
            .limited("host", self.host.clone());
        if self.reading { self.inspector.place(place) } else { place }
    }

    fn restore(&mut self, place: &ScreenPlace, env: &mut Env) {
        let hook = place.limit("hook").parse().ok();
        let chosen = [place.limit("event"), place.limit("reason"), place.limit("host")];
        let is_same =
            [self.event.as_str(), &self.reason, &self.host] == chosen && (self.hook, self.state) == (hook, place.tab);
        if !is_same {
            (self.hook, self.state) = (hook, place.tab.min(STATES.len() - 1));
            [self.event, self.reason, self.host] = chosen.map(str::to_owned);
            self.row_limit = DELIVERIES_STEP;
            self.rows.stop(env);
            self.rows.empty();
        }
        self.requested_delivery = None;
        ListView::restore(&mut self.rows, &place.list);
        self.reading = place.is_open;
        if self.reading {
            self.inspector.restore(place);
        }
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn has_unloaded_objects(&self) -> bool {
        self.is_cut()
    }
}
