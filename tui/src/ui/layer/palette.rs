//! The command palette: a command line with suggestions for commands and known names.
//!
//! A command acts on the object in its argument, or on the selected object of the screen below; otherwise the
//! palette asks for one. Every printable key is text.

mod draw;
mod keys;
mod objects;

use std::cell::Cell;

use ratatui::layout::Rect;

use self::objects::ObjectLookup;
use super::Step;
use crate::ui::{
    key::Key,
    keymap::{Binding, Expected, Keymap, Object, SHELL_COMMANDS, TYPED_COMMANDS, expected, synonyms},
    line::Line,
    screens::{ScreenId, Selection},
};

/// A suggested argument with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) value: String,
    pub(crate) about: String,
}

/// The command palette.
#[derive(Clone, Debug)]
pub(crate) struct Palette {
    line: Line,
    /// The highlighted row. Suggested names have none until one is chosen, so that Enter alone picks no object.
    at: Option<usize>,
    history: Vec<String>,
    /// Number of steps back in the history.
    back: usize,
    keymap: Keymap,
    /// The selection of the screen below.
    selected: Option<Selection>,
    offers: Vec<Offer>,
    lookup: ObjectLookup,
    error: Option<String>,
    /// Where the suggestions were last drawn, and the index of the first one.
    drawn: Cell<(Rect, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    words: &'static str,
    also: &'static str,
    title: &'static str,
    argument: &'static str,
    object: Option<Object>,
    /// The key binding of the command; `None` for a command without a key.
    binding: Option<&'static Binding>,
}

impl Entry {
    /// Returns its title, and the screen to which it belongs.
    fn described(&self) -> String {
        match self.binding.and_then(|binding| ScreenId::of(binding.scope)) {
            Some(screen) => format!("{} ({})", self.title, screen.name()),
            None => self.title.to_owned(),
        }
    }
}

fn entries(keymap: Keymap) -> impl Iterator<Item = Entry> {
    let bound = keymap.all().iter().filter(|binding| !binding.words.is_empty()).map(|binding| Entry {
        words: binding.words,
        also: binding.also,
        title: binding.title,
        argument: binding.object.map_or("", Object::argument),
        object: binding.object,
        binding: Some(binding),
    });
    let typed = TYPED_COMMANDS.iter().map(|one| Entry {
        words: one.words,
        also: one.also,
        title: one.title,
        argument: one.argument,
        object: one.object,
        binding: None,
    });
    let shell = SHELL_COMMANDS.iter().map(|one| Entry {
        words: &one.words,
        also: "",
        title: &one.title,
        argument: &one.argument,
        object: one.object,
        binding: None,
    });
    bound.chain(typed).chain(shell)
}

impl Palette {
    pub(crate) fn new(history: Vec<String>, keymap: Keymap, selected: Option<Selection>) -> Self {
        Self {
            line: Line::default(),
            at: Some(0),
            history,
            back: 0,
            keymap,
            selected,
            offers: Vec::new(),
            lookup: ObjectLookup::default(),
            error: None,
            drawn: Cell::default(),
        }
    }

    pub(crate) fn typed(&self) -> &str {
        self.line.text()
    }

    /// Returns the name after the command `theme`: the chosen suggestion, or else the typed text.
    pub(crate) fn theme(&self) -> Option<&str> {
        let typed = self.line.text().trim_start().strip_prefix("theme ")?;
        let chosen = self.at.filter(|_| self.suggests_words()).and_then(|at| self.offers.get(at));
        Some(chosen.map_or(typed.trim(), |offer| offer.value.as_str()))
    }

    /// Shows why the line could not be run.
    pub(crate) fn refuse(&mut self, why: String) {
        self.error = Some(why);
    }

    /// Sets the suggestions for the current argument.
    pub(crate) fn offer(&mut self, offers: Vec<Offer>) {
        if offers.len() < self.offers.len() {
            self.at = self.at.filter(|_| !self.suggests_words());
        }
        self.offers = offers;
    }

    /// Returns the command at the start of the line, and the text after it.
    fn command(&self) -> Option<(Entry, &str)> {
        let line = self.line.text().trim_start();
        let behind = |entry: Entry| {
            let rest = line.strip_prefix(entry.words)?;
            (rest.is_empty() || rest.starts_with(' ')).then_some((entry, rest))
        };
        entries(self.keymap).filter_map(behind).max_by_key(|(entry, _)| entry.words.len())
    }

    /// Returns whether the line is a prefix of a longer command.
    fn is_incomplete(&self) -> bool {
        let line = self.line.text().trim_start();
        let known = self.command().map_or(0, |(entry, _)| entry.words.len());
        entries(self.keymap).any(|entry| entry.words.len() > known && entry.words.starts_with(line))
    }

    /// Returns the object type of the current argument and its typed part.
    pub(crate) fn argument(&self) -> Option<(Object, &str)> {
        let (entry, rest) = self.command().filter(|_| !self.is_incomplete())?;
        let typed = rest.strip_prefix(' ')?;
        let (before, last) = typed.rsplit_once(' ').map_or(("", typed), |(before, last)| (before.trim(), last));
        if before.ends_with("--repo") {
            return Some((Object::Repository, last));
        }
        if let Expected::Object(object) = expected(self.line.text().trim_start()) {
            return Some((object, last));
        }
        // Deliveries and artifacts can be named several times, others once.
        let many = matches!(entry.object, Some(Object::Delivery | Object::Artifact));
        let expects_name = before.is_empty() || (many && !before.contains("--"));
        entry.object.filter(|_| expects_name && !last.starts_with('-')).map(|object| (object, last))
    }

    /// Returns the options or values that can follow.
    fn following(&self) -> Vec<Offer> {
        let line = self.line.text().trim_start();
        let last = line.rsplit(' ').next().unwrap_or_default();
        let offers = match expected(line) {
            Expected::Words(words) if self.argument().is_none() => {
                words.into_iter().map(|(value, about)| Offer { value, about }).collect()
            }
            _ => self.listed_values(),
        };
        offers.into_iter().filter(|one| one.value.starts_with(last)).collect()
    }

    /// Returns the values that the placeholder of the argument lists, such as `relative|iso|local`.
    fn listed_values(&self) -> Vec<Offer> {
        let is_value = |rest: &str| rest.starts_with(' ') && !rest.trim_start().contains(' ');
        let Some((entry, _)) = self.command().filter(|(_, rest)| is_value(rest)) else { return Vec::new() };
        let is_list = entry.argument.contains('|') && !entry.argument.contains(char::is_uppercase);
        let values = entry.argument.split('|').filter(|_| is_list);
        values.map(|value| Offer { value: value.to_owned(), about: String::new() }).collect()
    }

    /// Returns whether names, options or values are suggested, not commands.
    fn suggests_words(&self) -> bool {
        !self.offers.is_empty() || self.argument().is_some()
    }

    /// Returns the commands that match the line; first those that start with it.
    fn found(&self) -> Vec<Entry> {
        let typed = self.line.text().to_lowercase();
        let text = |entry: &Entry| format!("{} {} {}", entry.words, entry.also, entry.title).to_lowercase();
        let ranked = |entry: Entry| {
            let text = text(&entry);
            let begins = entry.words.starts_with(typed.trim());
            let by_words = synonyms::contains(entry.words, &typed);
            let rank = (!begins, !by_words, !synonyms::contains(&text, &typed));
            synonyms::finds(&text, &typed).then_some((rank, entry))
        };
        let mut found: Vec<_> = entries(self.keymap).filter_map(ranked).collect();
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, entry)| entry).collect()
    }

    fn rows(&self) -> usize {
        if self.suggests_words() {
            return self.offers.len();
        }
        self.found().len() + self.objects().map_or(0, |found| found.objects.len()) + self.found_keys().len()
    }

    pub(super) fn key(&mut self, key: Key) -> Step {
        match key {
            Key::Esc => return Step::Close,
            Key::Enter => return self.enter(),
            Key::Tab => self.complete(),
            Key::Down => {
                let next = self.at.map_or(0, |at| at + 1);
                self.at = Some(next.min(self.rows().saturating_sub(1)));
            }
            Key::Up if self.at.is_some_and(|at| at > 0) => self.at = self.at.map(|at| at - 1),
            Key::Up => {
                if let Some(earlier) = self.history.iter().rev().nth(self.back) {
                    self.line = Line::new(earlier);
                    self.back += 1;
                    self.edited();
                }
            }
            Key::Backspace if self.line.text().is_empty() => return Step::Close,
            key => {
                if self.line.key(key) {
                    self.edited();
                }
            }
        }
        Step::Stay
    }

    fn edited(&mut self) {
        self.error = None;
        // Enter alone chooses a command, but neither a suggested name nor an object.
        self.offers = self.following();
        self.at = if self.suggests_words() || self.found().is_empty() { None } else { Some(0) };
    }

    fn enter(&mut self) -> Step {
        if self.suggests_words() && self.at.is_some() {
            // Only the visible line is run, so a chosen name is completed first.
            self.complete();
            return Step::Stay;
        }
        match self.command() {
            Some((entry, rest)) if rest.trim().is_empty() && self.at.unwrap_or(0) == 0 => self.choose(entry),
            Some((_, rest)) if !rest.trim().is_empty() && !self.is_incomplete() => {
                Step::Run(self.line.text().trim().to_owned())
            }
            _ => {
                let commands = self.found();
                let before_keys = commands.len() + self.objects().map_or(0, |found| found.objects.len());
                let key = self.at.and_then(|at| self.found_keys().get(at.checked_sub(before_keys)?).copied());
                if let Some(binding) = key {
                    return Self::enter_key(binding);
                }
                match (commands.get(self.at.unwrap_or(0)).copied(), self.objects().cloned()) {
                    (Some(entry), _) => self.choose(entry),
                    (None, Some(found)) => self.enter_object(&found, self.at.map(|at| at - commands.len())),
                    // The parser of the line reports commands that run only in the shell.
                    (None, None) => Step::Run(self.line.text().trim().to_owned()),
                }
            }
        }
    }

    /// Runs a command without an argument, or asks for its object.
    fn choose(&mut self, entry: Entry) -> Step {
        let selected = self.selected.as_ref().filter(|selected| entry.object == Some(selected.object));
        match (entry.binding, entry.object) {
            (Some(binding), None) => Step::Press(binding, None),
            (Some(binding), Some(_)) if selected.is_some() => Step::Press(binding, selected.cloned()),
            (None, _) if entry.argument.is_empty() => Step::Run(entry.words.to_owned()),
            _ => {
                self.put(entry.words);
                let which = entry.object.map_or(entry.argument, Object::name);
                self.error = Some(format!("Which {which}? Type {} or choose with Down.", entry.argument));
                if entry.object.is_none() {
                    self.error = Some(format!("Add {} to the command.", entry.argument));
                }
                Step::Stay
            }
        }
    }

    fn put(&mut self, words: &str) {
        self.line = Line::new(&format!("{words} "));
        self.edited();
    }

    /// Completes the command or its argument.
    fn complete(&mut self) {
        if self.suggests_words() {
            let typed = self.line.text().rsplit(' ').next().unwrap_or_default();
            let keep = self.line.text().len() - typed.len();
            if let Some(offer) = self.offers.get(self.at.unwrap_or(0)) {
                let line = format!("{}{} ", &self.line.text()[..keep], offer.value);
                self.line = Line::new(&line);
                self.edited();
            }
        } else if let Some(entry) = self.found().get(self.at.unwrap_or(0)).copied() {
            let blank = if entry.argument.is_empty() { "" } else { " " };
            self.line = Line::new(&format!("{}{blank}", entry.words));
            self.edited();
        }
    }

    pub(super) fn paste(&mut self, pasted: &str) {
        self.line.paste(pasted);
        self.edited();
    }
}
