//! Notices in the status line and the list of earlier messages.

use super::{App, Effect, MESSAGES_MAX};
use crate::ui::world::{Link, Tone};

impl App {
    /// Shows a notice and adds it to the messages; an error rings the bell.
    pub(super) fn say(&mut self, tone: Tone, text: String) {
        self.messages.push((self.world.clock.now, text.clone()));
        let excess = self.messages.len().saturating_sub(MESSAGES_MAX);
        self.messages.drain(..excess);
        if tone == Tone::Error {
            self.effects.push(Effect::Bell);
        }
        self.notice = Some((tone, text, self.world.now));
    }

    /// Warns once per address, because the program reconnects often.
    pub(super) fn warn_of_exposed_token(&mut self, address: String) {
        if self.warned_of.as_ref() != Some(&address) {
            self.say(Tone::Error, format!("warning: token sent unencrypted to {address}; use https"));
            self.warned_of = Some(address);
        }
    }

    /// Returns the current notice.
    pub(crate) fn notice(&self) -> Option<(Tone, &str)> {
        self.notice.as_ref().map(|(tone, text, _)| (*tone, text.as_str()))
    }

    /// Returns the text at the right of the status line while no notice is shown.
    pub(crate) fn status_note(&self) -> Option<String> {
        match (self.refused, &self.world.link) {
            (1, Link::Down { .. }) => Some("1 change refused".to_owned()),
            (many @ 2.., Link::Down { .. }) => Some(format!("{many} changes refused")),
            _ => self.screen().status_note(&self.world),
        }
    }
}
