//! Decides whether keys are text or commands, and drops keys that were typed for a closed layer.
//!
//! While the top layer has a text field, every printable key is text. A response must not change that between
//! two keys: a layer that a response opens waits below the field, and when a response closes the field, keys
//! that are still being typed are dropped instead of becoming commands.

use std::time::Duration;

use super::{App, RequestOwner};
use crate::ui::{
    key::Key,
    keymap::Object,
    layer::{Layer, OpenLayer, Palette},
    screens::ScreenId,
    world::Tone,
};

/// Longest pause between two keys of one text.
const PAUSE: Duration = Duration::from_millis(600);
/// Keys that arrive sooner after a response opened a layer are dropped.
const DEAF: Duration = Duration::from_millis(250);

/// A question that a response has closed while its answer may be typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ClosedQuestion {
    #[default]
    None,
    /// No key was dropped yet.
    Closed,
    /// A notice has reported that keys are dropped.
    Reported,
}

/// State of text input.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Typing {
    /// When a printable key last went into a text field.
    last: Option<Duration>,
    /// Until when keys are dropped.
    drop_until: Option<Duration>,
    /// Whether the dropped keys were meant for a question, and whether a notice has said so.
    question: ClosedQuestion,
    /// Whether layers that open now are opened by a response, not by a key.
    pub(super) by_answer: bool,
}

fn is_steering(key: Key) -> bool {
    matches!(key, Key::Esc | Key::Ctrl(_) | Key::F(_))
}

impl App {
    fn takes_text(&self) -> bool {
        self.top_layer().is_some_and(Layer::takes_text)
    }

    /// Returns whether to drop a key because it was meant for a layer that a response has closed or covered.
    pub(super) fn drops(&mut self, key: Key) -> bool {
        let now = self.world.now;
        let is_late = self.typing.drop_until.is_some_and(|until| now < until);
        // Esc was meant for the question, too.
        let is_meant = key == Key::Esc && self.typing.question != ClosedQuestion::None;
        if is_late && (is_meant || !is_steering(key)) {
            self.typing.drop_until = Some(now + PAUSE);
            if self.typing.question == ClosedQuestion::Closed {
                self.typing.question = ClosedQuestion::Reported;
                self.notify(
                    Tone::Plain,
                    "Ignored the keys for the question that has closed; pause, then type".to_owned(),
                );
            }
            return true;
        }
        (self.typing.drop_until, self.typing.question) = (None, ClosedQuestion::None);
        self.typing.last = (self.takes_text() && matches!(key, Key::Char(_))).then_some(now);
        false
    }

    /// Returns whether clicks are dropped, because a response has just opened or closed a layer.
    pub(super) fn drops_clicks(&self) -> bool {
        self.typing.drop_until.is_some_and(|until| self.world.now < until)
    }

    /// Opens a layer and requests the data that it shows; a layer that a response opens goes below a text field.
    pub(super) fn open(&mut self, opener: RequestOwner, layer: Layer) {
        self.layer_ids += 1;
        let (id, requests) = (self.layer_ids, layer.requests());
        let mut at = self.layers.len();
        if self.typing.by_answer && self.takes_text() {
            self.notify(Tone::Plain, "A message waits below this; Esc shows it".to_owned());
            at -= 1;
        } else if self.typing.by_answer {
            self.typing.drop_until = Some(self.world.now + DEAF);
        }
        let expected = self.screens.repositories.identified(&layer.changed_repositories());
        self.layers.insert(at, OpenLayer { id, opener, layer, expected });
        for request in requests {
            self.send(RequestOwner::Layer(id), request);
        }
    }

    /// Opens a layer of the application itself, on top of all others.
    pub(super) fn open_own(&mut self, layer: Layer) {
        self.layer_ids += 1;
        self.layers.push(OpenLayer { id: self.layer_ids, opener: RequestOwner::App, layer, expected: Vec::new() });
    }

    /// Closes the top layer.
    pub(super) fn close_top(&mut self) -> Option<Layer> {
        self.layers.pop().map(|open| open.layer)
    }

    /// Closes a layer because of a response. Keys that follow were meant for it, until the user pauses.
    pub(super) fn close_by_answer(&mut self, at: usize) {
        let was_on_top = at + 1 == self.layers.len();
        let closed = self.layers.remove(at).layer;
        if !was_on_top {
            return;
        }
        let last = self.typing.last.take();
        if matches!(closed, Layer::Confirm(_)) {
            // Its answer may be a single key that was not typed yet.
            self.typing.drop_until = Some(self.world.now + PAUSE);
            self.typing.question = ClosedQuestion::Closed;
        } else if let Some(last) = last {
            self.typing.drop_until = Some(last + PAUSE);
        }
    }

    /// Offers known names for the argument in the palette.
    pub(super) fn suggest(&mut self) {
        self.preview_theme();
        self.look_up_typed();
        let Some(Layer::Palette(palette)) = self.top_layer() else { return };
        let offers = match palette.argument() {
            Some((Object::Context, typed)) => self.context_offers(typed),
            Some((Object::Theme, typed)) => self.theme_offers(typed),
            Some((object, typed)) => {
                let typed = typed.to_owned();
                if !self.screens.is_known(object) {
                    let id = ScreenId::listing(object);
                    self.with_screens(id, |screens, env| screens.get_mut(id).refresh(env));
                }
                self.screens.suggestions(object, &typed)
            }
            // The palette knows options and values by itself.
            None => return,
        };
        if let Some(Layer::Palette(palette)) = self.top_layer_mut() {
            palette.offer(offers);
        }
    }

    pub(super) fn open_palette(&mut self) {
        let palette = Palette::new(self.known_commands(), self.world.keymap, self.selection());
        self.open_own(Layer::Palette(palette));
    }
}
