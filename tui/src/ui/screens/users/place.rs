//! The place of the users screen: the user, and the tokens or keys.

use super::{UserPart, Users};
use crate::ui::{list::ListView, place::ScreenPlace, screens::places::Placed, world::Env};

impl Placed for Users {
    fn place(&self) -> ScreenPlace {
        ScreenPlace {
            list: ListView::place(&self.rows),
            tab: usize::from(self.part == UserPart::Keys),
            is_open: self.in_part,
            pane: self.part_list().place(),
            ..ScreenPlace::default()
        }
    }

    fn restore(&mut self, place: &ScreenPlace, _: &mut Env) {
        ListView::restore(&mut self.rows, &place.list);
        self.part = if place.tab == 0 { UserPart::Tokens } else { UserPart::Keys };
        self.in_part = place.is_open;
        self.part_list_mut().restore(&place.pane);
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }
}
