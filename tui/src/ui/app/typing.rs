//! Decides whether keys are text.
//!
//! While the top layer has a text field, every printable key is text. A response must not change that between
//! two keys: a layer that a response opens waits below the field, and when a response closes the field, keys
//! that are still being typed are dropped instead of becoming commands.

use std::time::Duration;

use super::App;
use crate::ui::{
    key::Key,
    layer::{Layer, Palette},
    world::Tone,
};

/// Longest pause between two keys of one text.
const PAUSE: Duration = Duration::from_millis(600);
/// Keys that arrive sooner after a response opened a layer are dropped.
const DEAF: Duration = Duration::from_millis(250);

/// State of text input.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Typing {
    /// When a printable key last went into a text field.
    last: Option<Duration>,
    /// Until when keys are dropped.
    drop_until: Option<Duration>,
    /// Whether layers that open now are opened by a response, not by a key.
    pub(super) by_answer: bool,
}

fn is_steering(key: Key) -> bool {
    matches!(key, Key::Esc | Key::Ctrl(_) | Key::F(_))
}

impl App {
    fn takes_text(&self) -> bool {
        self.layers.last().is_some_and(Layer::takes_text)
    }

    /// Returns whether to drop a key because it was meant for a layer that a response has closed or covered.
    pub(super) fn drops(&mut self, key: Key) -> bool {
        let now = self.world.now;
        let is_late = self.typing.drop_until.is_some_and(|until| now < until);
        if is_late && !is_steering(key) {
            self.typing.drop_until = Some(now + PAUSE);
            return true;
        }
        self.typing.drop_until = None;
        self.typing.last = (self.takes_text() && matches!(key, Key::Char(_))).then_some(now);
        false
    }

    /// Opens a layer; a layer that a response opens goes below a text field.
    pub(super) fn open(&mut self, layer: Layer) {
        if !self.typing.by_answer {
            return self.layers.push(layer);
        }
        if self.takes_text() {
            self.say(Tone::Plain, "A message waits below this; Esc shows it".to_owned());
            return self.layers.insert(self.layers.len() - 1, layer);
        }
        self.typing.drop_until = Some(self.world.now + DEAF);
        self.layers.push(layer);
    }

    /// Closes a layer because of a response.
    pub(super) fn close_by_answer(&mut self, at: usize) -> Layer {
        let was_on_top = at + 1 == self.layers.len();
        let layer = self.layers.remove(at);
        if was_on_top && let Some(last) = self.typing.last.take() {
            self.typing.drop_until = Some(last + PAUSE);
        }
        layer
    }

    /// Offers known names for the argument in the palette.
    pub(super) fn suggest(&mut self) {
        let Some(Layer::Palette(palette)) = self.layers.last() else { return };
        let offers = match palette.argument() {
            Some((object, typed)) => {
                let typed = typed.to_owned();
                if !self.screens.is_known(object) {
                    self.with_screens(|screens, env| screens.load(object, env));
                }
                self.screens.suggestions(object, &typed)
            }
            None => Vec::new(),
        };
        if let Some(Layer::Palette(palette)) = self.layers.last_mut() {
            palette.offer(offers);
        }
    }

    pub(super) fn open_palette(&mut self) {
        let palette = Palette::new(self.commands.clone(), self.world.keymap, self.selection());
        self.layers.push(Layer::Palette(palette));
    }
}
