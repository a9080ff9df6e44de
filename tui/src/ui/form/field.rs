//! Fields of a form.

use super::multi_select::MultiSelect;
use crate::{
    args,
    ui::{key::Key, line::Line},
};

/// The key that puts the next suggested value into the field.
const NEXT: char = 'n';

/// The value of a field.
#[derive(Clone, Debug)]
pub(crate) enum FieldValue {
    Text(Line),
    /// A text that is never shown, and whether it is visible.
    Secret(Line, bool),
    Toggle(bool),
    /// One of several options, and its index.
    Choice(Vec<&'static str>, usize),
    /// Any of several options.
    MultiSelect(MultiSelect),
}

/// Joins names in sorted order.
pub(crate) fn joined(names: &[String]) -> String {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.join(", ")
}

/// Returns the error in a text, if there is one.
pub(crate) type Check = fn(&str) -> Option<String>;

/// A field of a form.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Name in the API.
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) kind: FieldValue,
    required: bool,
    check: Option<Check>,
    /// Shown below the field while it is focused.
    pub(crate) help: &'static str,
    pub(crate) error: Option<String>,
    /// Known values that a key puts into the field.
    pub(super) offers: Vec<String>,
    /// Value of the object when the form was filled.
    pub(super) initial: String,
    /// Value that another client saved while it was changed here too.
    pub(super) theirs: Option<String>,
    /// Whether the field does not apply and is hidden.
    pub(crate) hidden: bool,
}

impl Field {
    fn new(name: &'static str, label: &'static str, kind: FieldValue) -> Self {
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
        Self::new(name, label, FieldValue::Text(Line::new(text)))
    }

    pub(crate) fn secret(name: &'static str, label: &'static str) -> Self {
        Self::new(name, label, FieldValue::Secret(Line::default(), false))
    }

    pub(crate) fn toggle(name: &'static str, label: &'static str, on: bool) -> Self {
        Self::new(name, label, FieldValue::Toggle(on))
    }

    pub(crate) fn choice(name: &'static str, label: &'static str, words: &[&'static str], at: usize) -> Self {
        Self::new(name, label, FieldValue::Choice(words.to_vec(), at))
    }

    /// Returns a field for several of `options`, which are names with descriptions; `chosen` are preselected.
    pub(crate) fn many(
        name: &'static str,
        label: &'static str,
        options: Vec<(String, String)>,
        chosen: &[String],
    ) -> Self {
        Self::new(name, label, FieldValue::MultiSelect(MultiSelect::new(options, chosen)))
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
            FieldValue::Text(line) => line.text().trim(),
            FieldValue::Secret(line, _) => line.text(),
            FieldValue::Toggle(_) | FieldValue::MultiSelect(_) => "",
            FieldValue::Choice(words, at) => words.get(*at).copied().unwrap_or_default(),
        }
    }

    /// Returns whether the text must not be drawn: a hidden secret, or a private key that was pasted by mistake.
    pub(super) fn is_masked(&self) -> bool {
        match &self.kind {
            FieldValue::Secret(_, shown) => !shown,
            FieldValue::Text(line) => args::is_private_key(line.text()),
            FieldValue::Toggle(_) | FieldValue::Choice(..) | FieldValue::MultiSelect(_) => false,
        }
    }

    /// Returns the typed text, if printable keys are text in this field.
    pub(crate) fn typed(&self) -> Option<&str> {
        match &self.kind {
            FieldValue::Text(line) | FieldValue::Secret(line, _) => Some(line.text()),
            FieldValue::MultiSelect(many) => many.typed(),
            FieldValue::Toggle(_) | FieldValue::Choice(..) => None,
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        match &self.kind {
            FieldValue::Toggle(on) => *on,
            FieldValue::Choice(_, at) => *at > 0,
            FieldValue::MultiSelect(many) => !many.names(false).is_empty(),
            FieldValue::Text(_) | FieldValue::Secret(..) => !self.text().is_empty(),
        }
    }

    /// Returns the chosen names of a multi-select, or all of its names.
    pub(crate) fn names(&self, all: bool) -> Vec<String> {
        match &self.kind {
            FieldValue::MultiSelect(many) => many.names(all),
            _ => Vec::new(),
        }
    }

    /// Handles a key. Returns whether it was used.
    pub(super) fn key(&mut self, key: Key) -> bool {
        if key == Key::Ctrl(NEXT) && self.next_offer() {
            return true;
        }
        match &mut self.kind {
            FieldValue::Text(line) | FieldValue::Secret(line, _) => line.key(key),
            FieldValue::MultiSelect(many) => many.key(key),
            FieldValue::Toggle(on) => {
                let switched = matches!(key, Key::Char(' ') | Key::Left | Key::Right);
                *on ^= switched;
                switched
            }
            FieldValue::Choice(words, at) => {
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

    /// Returns the value as a text.
    pub(super) fn value(&self) -> String {
        match &self.kind {
            FieldValue::Toggle(on) => if *on { "on" } else { "off" }.to_owned(),
            FieldValue::MultiSelect(many) => joined(&many.names(false)),
            FieldValue::Text(_) | FieldValue::Secret(..) | FieldValue::Choice(..) => self.text().to_owned(),
        }
    }

    /// Sets the value from a text in the format of [`Self::value`].
    pub(crate) fn set_value(&mut self, value: &str) {
        match &mut self.kind {
            FieldValue::Toggle(on) => *on = value == "on",
            FieldValue::MultiSelect(many) => many.choose(&value.split(", ").collect::<Vec<_>>()),
            FieldValue::Choice(words, at) => *at = words.iter().position(|word| *word == value).unwrap_or(*at),
            FieldValue::Text(_) | FieldValue::Secret(..) => self.fill(value),
        }
    }

    /// Replaces the text.
    pub(crate) fn fill(&mut self, text: &str) {
        if let FieldValue::Text(line) | FieldValue::Secret(line, _) = &mut self.kind {
            *line = Line::new(text);
        }
    }

    /// Shows or hides a secret.
    pub(crate) fn show(&mut self, on: bool) {
        if let FieldValue::Secret(_, shown) = &mut self.kind {
            *shown = on;
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let FieldValue::Text(line) | FieldValue::Secret(line, _) = &mut self.kind {
            line.paste(text);
        }
    }

    pub(super) fn check(&mut self) {
        if self.hidden {
            self.error = None;
            return;
        }
        let text = self.text();
        let is_missing = match &self.kind {
            FieldValue::MultiSelect(_) => !self.is_on(),
            _ => text.is_empty(),
        };
        self.error = if self.required && is_missing {
            Some("required".to_owned())
        } else if text.is_empty() {
            None
        } else {
            self.check.and_then(|check| check(text))
        };
    }
}

/// Suggested values. Other values can be typed.
impl Field {
    /// Suggests `values` after the current one.
    pub(crate) fn offer(&mut self, values: &[String]) {
        let first = Some(self.text().to_owned()).filter(|text| !text.is_empty());
        self.offers =
            first.iter().chain(values.iter().filter(|value| Some(*value) != first.as_ref())).cloned().collect();
    }

    /// Puts the next suggested value into the field. Returns whether there is one.
    pub(super) fn next_offer(&mut self) -> bool {
        let at = self.offers.iter().position(|value| value == self.text());
        let next = at.map_or(0, |at| at + 1);
        let Some(value) = self.offers.get(next).or(self.offers.first()) else { return false };
        if let FieldValue::Text(line) = &mut self.kind {
            *line = Line::new(value);
        }
        true
    }

    /// Formats the suggestions, for example `C-n chooses: ops, infra, data`.
    pub(super) fn offers_note(&self) -> Option<String> {
        (self.offers.len() > 1).then(|| format!("C-{NEXT} chooses: {}", self.offers.join(", ")))
    }
}
