//! The place of the groups of deliveries: the grouping and the list.

use super::DeliveryGroups;
use crate::ui::{list::ListView, place::ScreenPlace, screens::places::Placed, world::Env};

impl Placed for DeliveryGroups {
    fn place(&self) -> ScreenPlace {
        ScreenPlace { list: ListView::place(&self.rows), tab: self.by, ..ScreenPlace::default() }
    }

    fn restore(&mut self, place: &ScreenPlace, env: &mut Env) {
        if self.by != place.tab {
            self.regroup(place.tab, env);
        }
        ListView::restore(&mut self.rows, &place.list);
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }
}
