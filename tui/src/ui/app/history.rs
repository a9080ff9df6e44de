//! The history of places: back, forward, and the return to the place of an earlier session.
//!
//! A command that shows another screen or another object keeps the place before it. Going back shows that place again:
//! its screen requests its data, and the cursor waits for its row. A place whose object is gone is left out.

use super::App;
use crate::ui::{
    place::HistoryPlace,
    screens::ScreenId,
    world::{Link, Tone},
};

/// Maximum number of places in each direction. The oldest one is dropped.
const PLACES_MAX: usize = 100;

/// The direction in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Back,
    Forward,
    /// To the place of an earlier session, or of the same daemon with other credentials.
    Return,
}

/// A place that is shown, but whose object may not be loaded yet.
#[derive(Debug)]
struct Arrival {
    place: HistoryPlace,
    way: Way,
}

/// The places before and after the visible one.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The newest is the last one.
    back: Vec<HistoryPlace>,
    forward: Vec<HistoryPlace>,
    /// The place before the message that is being handled.
    left: Option<HistoryPlace>,
    /// Whether this message has shown a screen.
    jumped: bool,
    /// Whether a jump since the last key or click has kept the place before it. A response continues the same jump.
    is_kept: bool,
    arrival: Option<Arrival>,
    /// The address of the daemon and the place of an earlier session, until the daemon is known.
    earlier: Option<(String, HistoryPlace)>,
}

impl App {
    /// Returns what is visible.
    pub(super) fn place(&self) -> HistoryPlace {
        let screen = self.screen();
        HistoryPlace {
            screen: self.current.name().to_owned(),
            object: screen.subject().unwrap_or_default(),
            shown: screen.place(),
        }
    }

    /// Remembers the place before a message that may show another one.
    pub(super) fn note_place(&mut self) {
        self.history.left = Some(self.place());
    }

    /// Begins a key or a click. Nothing waits for an earlier place any more.
    pub(super) fn note_input(&mut self) {
        (self.history.arrival, self.history.is_kept) = (None, false);
        if self.world.link == Link::Up {
            self.history.earlier = None;
        }
    }

    /// Remembers the place before a command shows a screen.
    pub(super) fn note_jump(&mut self) {
        if self.history.left.is_none() {
            self.history.left = Some(self.place());
        }
        self.history.jumped = true;
    }

    /// Keeps the place before the message if the message has shown another one. `is_input`: a key or a click.
    pub(super) fn keep_place(&mut self, is_input: bool) {
        let (left, jumped) = (self.history.left.take(), std::mem::take(&mut self.history.jumped));
        let Some(left) = left.filter(|_| jumped) else { return };
        let here = self.place();
        let continues = !is_input && self.history.is_kept && left.screen == here.screen;
        if !continues && !left.is_same(&here) {
            self.history.is_kept = true;
            self.history.forward.clear();
            keep(&mut self.history.back, left);
        }
    }

    /// Ends a jump without keeping the place before it.
    pub(super) fn forget_jump(&mut self) {
        (self.history.left, self.history.jumped) = (None, false);
    }

    /// Goes back or forward.
    pub(super) fn travel(&mut self, way: Way) {
        let here = self.place();
        let (from, to) = match way {
            Way::Forward => (&mut self.history.forward, &mut self.history.back),
            Way::Back | Way::Return => (&mut self.history.back, &mut self.history.forward),
        };
        let Some(place) = from.pop() else {
            let which = if way == Way::Forward { "later" } else { "earlier" };
            return self.notify(Tone::Plain, format!("No {which} place"));
        };
        keep(to, here);
        self.arrive(place, way);
    }

    /// Shows a place.
    fn arrive(&mut self, place: HistoryPlace, way: Way) {
        // Choose before the screen is entered, because entering sends the missing requests.
        let Some(id) = self.show_place(&place) else { return };
        self.go(id);
        (self.history.jumped, self.history.is_kept) = (false, false);
        self.history.arrival = Some(Arrival { place, way });
        self.check_arrival();
    }

    /// Makes the screen of a place show it. Returns the screen.
    fn show_place(&mut self, place: &HistoryPlace) -> Option<ScreenId> {
        let id = place.id()?;
        self.with_screens(id, |screens, env| screens.get_mut(id).restore(&place.shown, env));
        Some(id)
    }

    /// When the rows of the shown place are loaded: goes on if its object is gone.
    pub(super) fn check_arrival(&mut self) {
        let Some(arrival) = &self.history.arrival else { return };
        let is_visible = arrival.place.id() == Some(self.current);
        let row = arrival.place.shown.list.row.as_deref().filter(|_| is_visible);
        let (Some(list), Some(row)) = (self.screen().objects(), row) else {
            self.history.arrival = None;
            return;
        };
        if !list.is_settled() {
            return;
        }
        let is_gone = !list.has_row(row);
        if let Some(arrival) = self.history.arrival.take().filter(|_| is_gone) {
            self.skip(arrival);
        }
    }

    /// Shows the next place instead of one whose object is gone; the list if there is none, or if the object may still
    /// exist.
    fn skip(&mut self, Arrival { mut place, way }: Arrival) {
        let object = if place.object.is_empty() { "The row".to_owned() } else { std::mem::take(&mut place.object) };
        (place.shown.is_open, place.shown.list.row) = (false, None);
        let may_exist = self.screen().has_unloaded_objects();
        let (next, which) = match way {
            _ if may_exist => (None, ""),
            Way::Back => (self.history.back.pop(), "the place before it"),
            Way::Forward => (self.history.forward.pop(), "the place after it"),
            Way::Return => (None, ""),
        };
        let Some(next) = next else {
            let state = if may_exist { "is not among the loaded rows" } else { "is no longer listed" };
            self.notify(Tone::Plain, format!("{object} {state}"));
            return self.arrive(place, Way::Return);
        };
        // Otherwise its screen would open another object when it is shown again.
        self.show_place(&place);
        self.notify(Tone::Plain, format!("{object} is no longer listed; this is {which}"));
        self.arrive(next, way);
    }

    /// Returns the place to save, with the address of its daemon.
    pub(super) fn place_to_save(&self) -> (String, Option<HistoryPlace>) {
        match &self.history.earlier {
            // The daemon did not respond in this session.
            Some((address, place)) => (address.clone(), Some(place.clone())),
            None => (self.world.address.clone(), Some(self.place())),
        }
    }

    /// Sets the place of an earlier session, which is shown when the daemon at `address` responds.
    pub(super) fn return_later(&mut self, address: String, place: Option<HistoryPlace>) {
        self.history.earlier = place.map(|place| (address, place));
    }

    /// Shows the place of an earlier session if the daemon and the first screen are the same.
    pub(super) fn return_to_earlier(&mut self) {
        let Some((address, place)) = self.history.earlier.take() else { return };
        if address == self.world.address && place.id() == Some(self.current) {
            self.arrive(place, Way::Return);
        }
    }

    /// Shows the same place after the screens were emptied because of other credentials.
    pub(super) fn return_to(&mut self, place: HistoryPlace) {
        self.arrive(place, Way::Return);
    }

    /// Drops all places, because the objects of another daemon have the same numbers.
    pub(super) fn forget_places(&mut self) {
        self.history = History::default();
    }
}

/// Adds a place, and drops the oldest one if there are too many.
fn keep(places: &mut Vec<HistoryPlace>, place: HistoryPlace) {
    if places.len() == PLACES_MAX {
        places.remove(0);
    }
    places.push(place);
}
