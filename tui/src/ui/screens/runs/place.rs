//! The place of the runs screen: the repository, the tab, the run, and its jobs and artifacts.

use super::{RunTab, Runs};
use crate::ui::{list::ListView, place::ScreenPlace, screens::places::Placed, world::Env};

impl Placed for Runs {
    fn place(&self) -> ScreenPlace {
        let place = ScreenPlace {
            list: ListView::place(&self.rows),
            tab: self.tab as usize,
            is_open: self.in_parts,
            pane: ListView::place(&self.parts),
            ..ScreenPlace::default()
        };
        place.limited("repo", self.of.as_ref().map(ToString::to_string).unwrap_or_default())
    }

    fn restore(&mut self, place: &ScreenPlace, env: &mut Env) {
        let of = place.limit("repo").parse().ok();
        let tab = RunTab::ALL.get(place.tab).copied().unwrap_or_default();
        if (&self.of, self.tab) != (&of, tab) {
            self.choose(of, tab, env);
        }
        self.wanted = None;
        ListView::restore(&mut self.rows, &place.list);
        ListView::restore(&mut self.parts, &place.pane);
        self.in_parts = place.is_open;
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn has_unloaded_objects(&self) -> bool {
        self.searched.more
    }
}
