//! The place of each screen: what it shows, and the return to it.
//!
//! The simple screens are here. The others have a module `place` of their own.

use std::fmt::Debug;

use super::{
    audit::AuditLog,
    caches::Caches,
    dashboard::Dashboard,
    deleted::{Deleted, Restorable},
    tasks::Tasks,
};
use crate::ui::{list::ListView, place::ScreenPlace, world::Env};

/// A screen that can return to what it showed.
pub(crate) trait Placed: Debug {
    /// Returns what the screen shows.
    fn place(&self) -> ScreenPlace;

    /// Returns to a place. Called before the screen is entered, so rows may be loaded later.
    fn restore(&mut self, place: &ScreenPlace, env: &mut Env);

    /// Returns the list with the object of a place; `None` if its rows come and go by themselves.
    fn objects(&self) -> Option<&dyn ListView>;

    /// Returns whether the daemon has objects that are not loaded. An object that is not listed may still exist then.
    fn has_unloaded_objects(&self) -> bool {
        false
    }
}

/// Returns the place of a screen with one list and nothing else.
fn of_list(list: &dyn ListView) -> ScreenPlace {
    ScreenPlace { list: list.place(), ..ScreenPlace::default() }
}

impl Placed for Tasks {
    fn place(&self) -> ScreenPlace {
        of_list(&self.rows)
    }

    fn restore(&mut self, place: &ScreenPlace, _: &mut Env) {
        ListView::restore(&mut self.rows, &place.list);
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }
}

impl Placed for AuditLog {
    fn place(&self) -> ScreenPlace {
        of_list(&self.rows)
    }

    fn restore(&mut self, place: &ScreenPlace, _: &mut Env) {
        ListView::restore(&mut self.rows, &place.list);
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }

    fn has_unloaded_objects(&self) -> bool {
        self.is_cut()
    }
}

impl Placed for Caches {
    fn place(&self) -> ScreenPlace {
        of_list(&self.rows)
    }

    fn restore(&mut self, place: &ScreenPlace, _: &mut Env) {
        ListView::restore(&mut self.rows, &place.list);
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }
}

impl<T: Restorable> Placed for Deleted<T> {
    fn place(&self) -> ScreenPlace {
        of_list(&self.rows)
    }

    fn restore(&mut self, place: &ScreenPlace, _: &mut Env) {
        ListView::restore(&mut self.rows, &place.list);
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.rows)
    }
}

/// The rows of the dashboard are problems and events, which end and scroll away: its place is only its period.
impl Placed for Dashboard {
    fn place(&self) -> ScreenPlace {
        ScreenPlace { tab: self.span as usize, ..ScreenPlace::default() }
    }

    fn restore(&mut self, place: &ScreenPlace, env: &mut Env) {
        while self.span as usize != place.tab.min(2) {
            self.show_span(self.span.next(), env);
        }
    }

    fn objects(&self) -> Option<&dyn ListView> {
        None
    }
}
