//! The place of the log: the level, whether it follows, and the list.

use super::{DaemonLog, LogLevel};
use crate::ui::{list::ListView, net::OwnRequests, place::ScreenPlace, screens::places::Placed, world::Env};

/// The values of the limits of a place.
const YES: &str = "yes";

impl Placed for DaemonLog {
    fn place(&self) -> ScreenPlace {
        let mut list = ListView::place(&self.rows);
        if self.follows {
            // The newest record is another one soon.
            list.row = None;
        }
        let flag = |is_set: bool| if is_set { YES } else { "" };
        ScreenPlace { list, tab: self.level as usize, ..ScreenPlace::default() }
            .limited("stopped", flag(!self.follows))
            .limited("own", flag(self.own == OwnRequests::Shown))
    }

    fn restore(&mut self, place: &ScreenPlace, env: &mut Env) {
        if (place.limit("own") == YES) != (self.own == OwnRequests::Shown) {
            self.toggle_own(env);
        }
        self.choose(LogLevel::ALL.get(place.tab).copied().unwrap_or_default(), env);
        self.follows = place.limit("stopped") != YES;
        ListView::restore(&mut self.rows, &place.list);
    }

    fn objects(&self) -> Option<&dyn ListView> {
        // The daemon replaces old records by new ones.
        None
    }
}
