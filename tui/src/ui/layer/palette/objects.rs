//! Objects that the typed word matches: suggested with their kinds while the user types, and chosen with Enter.

use super::Palette;
use crate::ui::{
    layer::Step,
    net::{FoundObject, FoundObjects},
};

/// Characters of the shortest word that is looked up while the user types.
const WORD_MIN: usize = 3;

/// The objects that were looked up.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectLookup {
    /// The word of the last request.
    requested: String,
    /// Whether Enter was pressed, so that the response shows the object.
    is_awaited: bool,
    found: Option<FoundObjects>,
}

impl Palette {
    /// Returns the word to look up while the user types: a single word that begins no command and is no number.
    pub(crate) fn wanted_word(&self) -> Option<String> {
        let word = self.typed().trim();
        let is_number = word.trim_start_matches('#').bytes().all(|byte| byte.is_ascii_digit());
        // The name of a repository with its owner is shown without a lookup.
        let is_path = word.contains('/') && !word.contains("://");
        let is_single = !word.contains(char::is_whitespace) && !is_number && !is_path;
        let is_word = word.chars().count() >= WORD_MIN && is_single;
        let begins_command = || super::entries(self.keymap).any(|entry| entry.words.starts_with(word));
        (is_word && self.lookup.requested != word && !begins_command()).then(|| word.to_owned())
    }

    /// Notes that a word is looked up. `is_awaited`: the response shows the object.
    pub(crate) fn lookup_started(&mut self, word: String, is_awaited: bool) {
        self.lookup = ObjectLookup { requested: word, is_awaited, found: self.lookup.found.take() };
        if is_awaited {
            self.error = None;
        }
    }

    /// Takes the objects that match a word. Returns the command line to run if Enter was pressed and the word means one
    /// object.
    pub(crate) fn take_found(&mut self, found: &FoundObjects) -> Option<String> {
        self.lookup.found = Some(found.clone());
        if !std::mem::take(&mut self.lookup.is_awaited) || found.word != self.typed().trim() {
            return None;
        }
        match found.unique() {
            Some(one) => return Some(one.line.clone()),
            None if found.objects.is_empty() => self.error = Some(found.nothing()),
            None => self.error = Some(choice(found)),
        }
        None
    }

    /// Notes that the lookup failed.
    pub(crate) fn lookup_failed(&mut self, why: &str) {
        if std::mem::take(&mut self.lookup.is_awaited) {
            self.error = Some(why.to_owned());
        }
    }

    /// Returns the objects that match the typed word, if they were looked up.
    pub(super) fn objects(&self) -> Option<&FoundObjects> {
        let found = self.lookup.found.as_ref()?;
        (found.word == self.typed().trim() && !found.objects.is_empty()).then_some(found)
    }

    /// Shows the chosen object, or the only object with that name.
    pub(super) fn enter_object(&mut self, found: &FoundObjects, at: Option<usize>) -> Step {
        let chosen = at.and_then(|at| found.objects.get(at)).or_else(|| found.unique().filter(|_| at.is_none()));
        if let Some(one) = chosen {
            return Step::Run(one.line.clone());
        }
        self.error = Some(choice(found));
        Step::Stay
    }

    pub(super) fn object_lines(&self) -> Vec<(String, String)> {
        let objects = self.objects().map(|found| found.objects.as_slice()).unwrap_or_default();
        let line = |one: &FoundObject| (format!("{} {}", one.kind, one.name), one.about.clone());
        objects.iter().map(line).collect()
    }
}

fn choice(found: &FoundObjects) -> String {
    format!("{} objects match '{}'. Choose one with Down.", found.objects.len(), found.word)
}
