//! A field of a form.

use super::{many::Many, offers::NEXT};
use crate::ui::{key::Key, line::Line};

/// What is in a field.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Text(Line),
    /// Never shown, whatever its length.
    Secret(Line, bool),
    Toggle(bool),
    /// One of several: the words, and which.
    Choice(Vec<&'static str>, usize),
    /// Any of several.
    Many(Many),
}

/// Several names as one text, in an order of their own.
pub(crate) fn joined(names: &[String]) -> String {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.join(", ")
}

/// Says what is wrong with a text.
pub(crate) type Check = fn(&str) -> Option<String>;

/// A field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// As the API spells it.
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) kind: Kind,
    required: bool,
    check: Option<Check>,
    /// Below the field while it has the focus.
    pub(crate) help: &'static str,
    pub(crate) error: Option<String>,
    /// Known values, one of which can be chosen with a key.
    pub(super) offers: Vec<String>,
    /// What the object had in it when the form was filled.
    pub(super) initial: String,
    /// What somebody else put there while it was changed here too.
    pub(super) theirs: Option<String>,
    /// Whether it means nothing now and is not shown.
    pub(crate) hidden: bool,
}

impl Field {
    fn new(name: &'static str, label: &'static str, kind: Kind) -> Self {
        Self {
            name,
            label,
            kind,
            required: false,
            check: None,
            help: "",
            error: None,
            offers: Vec::new(),
            initial: String::new(),
            theirs: None,
            hidden: false,
        }
    }

    pub(crate) fn line(name: &'static str, label: &'static str, text: &str) -> Self {
        Self::new(name, label, Kind::Text(Line::new(text)))
    }

    pub(crate) fn secret(name: &'static str, label: &'static str) -> Self {
        Self::new(name, label, Kind::Secret(Line::default(), false))
    }

    pub(crate) fn toggle(name: &'static str, label: &'static str, on: bool) -> Self {
        Self::new(name, label, Kind::Toggle(on))
    }

    pub(crate) fn choice(name: &'static str, label: &'static str, words: &[&'static str], at: usize) -> Self {
        Self::new(name, label, Kind::Choice(words.to_vec(), at))
    }

    /// Names with descriptions, those in `chosen` chosen.
    pub(crate) fn many(
        name: &'static str,
        label: &'static str,
        options: Vec<(String, String)>,
        chosen: &[String],
    ) -> Self {
        Self::new(name, label, Kind::Many(Many::new(options, chosen)))
    }

    pub(crate) fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub(crate) fn checked(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    pub(crate) fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    pub(crate) fn is_required(&self) -> bool {
        self.required
    }

    pub(crate) fn text(&self) -> &str {
        match &self.kind {
            Kind::Text(line) => line.text().trim(),
            Kind::Secret(line, _) => line.text(),
            Kind::Toggle(_) | Kind::Many(_) => "",
            Kind::Choice(words, at) => words.get(*at).copied().unwrap_or_default(),
        }
    }

    /// What is typed, where printable keys are text.
    pub(crate) fn typed(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(line) | Kind::Secret(line, _) => Some(line.text()),
            Kind::Many(many) => many.typed(),
            Kind::Toggle(_) | Kind::Choice(..) => None,
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        match &self.kind {
            Kind::Toggle(on) => *on,
            Kind::Choice(_, at) => *at > 0,
            Kind::Many(many) => !many.names(false).is_empty(),
            Kind::Text(_) | Kind::Secret(..) => !self.text().is_empty(),
        }
    }

    /// The chosen names of many, or all of them.
    pub(crate) fn names(&self, all: bool) -> Vec<String> {
        match &self.kind {
            Kind::Many(many) => many.names(all),
            _ => Vec::new(),
        }
    }

    /// Takes a key; false if it means nothing here.
    pub(super) fn key(&mut self, key: Key) -> bool {
        if key == Key::Ctrl(NEXT) && self.next_offer() {
            return true;
        }
        match &mut self.kind {
            Kind::Text(line) | Kind::Secret(line, _) => line.key(key),
            Kind::Many(many) => many.key(key),
            Kind::Toggle(on) => {
                let switched = matches!(key, Key::Char(' ') | Key::Left | Key::Right);
                *on ^= switched;
                switched
            }
            Kind::Choice(words, at) => {
                let many = words.len().max(1);
                *at = match key {
                    Key::Char(' ') | Key::Right => (*at + 1) % many,
                    Key::Left => (*at + many - 1) % many,
                    _ => return false,
                };
                true
            }
        }
    }

    /// What is in it, whatever its kind.
    pub(super) fn value(&self) -> String {
        match &self.kind {
            Kind::Toggle(on) => if *on { "on" } else { "off" }.to_owned(),
            Kind::Many(many) => joined(&many.names(false)),
            Kind::Text(_) | Kind::Secret(..) | Kind::Choice(..) => self.text().to_owned(),
        }
    }

    /// Puts something in, as [`Self::value`] says it.
    pub(super) fn set_value(&mut self, value: &str) {
        match &mut self.kind {
            Kind::Toggle(on) => *on = value == "on",
            Kind::Many(many) => many.choose(&value.split(", ").collect::<Vec<_>>()),
            Kind::Choice(words, at) => *at = words.iter().position(|word| *word == value).unwrap_or(*at),
            Kind::Text(_) | Kind::Secret(..) => self.fill(value),
        }
    }

    /// Types `text` in place of what was typed.
    pub(crate) fn fill(&mut self, text: &str) {
        if let Kind::Text(line) | Kind::Secret(line, _) = &mut self.kind {
            *line = Line::new(text);
        }
    }

    /// Whether a secret can be read.
    pub(crate) fn show(&mut self, on: bool) {
        if let Kind::Secret(_, shown) = &mut self.kind {
            *shown = on;
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Kind::Text(line) | Kind::Secret(line, _) = &mut self.kind {
            line.paste(text);
        }
    }

    pub(super) fn check(&mut self) {
        if self.hidden {
            self.error = None;
            return;
        }
        let text = self.text();
        self.error = if self.required && text.is_empty() {
            Some("required".to_owned())
        } else if text.is_empty() {
            None
        } else {
            self.check.and_then(|check| check(text))
        };
    }
}
