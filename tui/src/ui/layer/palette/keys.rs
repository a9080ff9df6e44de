//! Actions that have a key but no command, found by the words in their titles, with the screen where the key works.

use super::Palette;
use crate::ui::{
    key::Key,
    keymap::{Binding, synonyms},
    layer::Step,
    screens::ScreenId,
    world::{Cmd, Tone},
};

/// Characters of the shortest text that finds keys.
const TEXT_MIN: usize = 3;

/// Returns the keys of a binding, and the screen where they work.
fn keys_and_screen(binding: &Binding) -> Option<(String, ScreenId)> {
    let screen = ScreenId::of(binding.scope)?;
    let keys: Vec<String> = binding.keys.iter().map(|key: &Key| key.name()).collect();
    (!keys.is_empty()).then(|| (keys.join(" "), screen))
}

impl Palette {
    /// Returns the bindings without a command that the line finds, each title once for a screen.
    pub(super) fn found_keys(&self) -> Vec<&'static Binding> {
        let typed = self.typed().trim();
        if typed.chars().count() < TEXT_MIN {
            return Vec::new();
        }
        let matches = |one: &&Binding| {
            let text = format!("{} {}", one.title, one.also).to_lowercase();
            one.words.is_empty() && keys_and_screen(one).is_some() && synonyms::finds(&text, typed)
        };
        let mut found: Vec<&'static Binding> = Vec::new();
        for binding in self.keymap.all().iter().filter(matches) {
            let is_same =
                |one: &&Binding| one.title == binding.title && ScreenId::of(one.scope) == ScreenId::of(binding.scope);
            if !found.iter().any(is_same) {
                found.push(binding);
            }
        }
        found
    }

    pub(super) fn key_lines(&self) -> Vec<(String, String)> {
        let line = |binding: &Binding| {
            let (keys, screen) = keys_and_screen(binding)?;
            Some((binding.title.to_owned(), format!("key {keys} on {}", screen.name())))
        };
        self.found_keys().into_iter().filter_map(line).collect()
    }

    /// Goes to the screen of a binding and says which key to press there.
    pub(super) fn enter_key(binding: &Binding) -> Step {
        let Some((keys, screen)) = keys_and_screen(binding) else { return Step::Stay };
        let text = format!("{}: press {keys} here", binding.title);
        Step::Then(vec![Cmd::Screen(screen), Cmd::Notify(Tone::Plain, text)])
    }
}
