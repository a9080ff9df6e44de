//! The place of the hooks screen: the owner of the hooks, the tab and the list.

use farrier_common::client::HookOwner;

use super::Hooks;
use crate::ui::{list::ListView, place::ScreenPlace, screens::places::Placed, world::Env};

impl Placed for Hooks {
    fn place(&self) -> ScreenPlace {
        let place = ScreenPlace { list: ListView::place(&self.feed), tab: self.kind, ..ScreenPlace::default() };
        match &self.owner {
            HookOwner::Repository(path) => place.limited("repo", path.to_string()),
            _ => place,
        }
    }

    fn restore(&mut self, place: &ScreenPlace, env: &mut Env) {
        let owner = place.limit("repo").parse().map_or(HookOwner::Any, HookOwner::Repository);
        if self.owner != owner {
            self.choose(owner, env);
        }
        if self.kind != place.tab {
            self.show_kind(place.tab, env);
        }
        ListView::restore(&mut self.feed, &place.list);
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.feed)
    }
}
