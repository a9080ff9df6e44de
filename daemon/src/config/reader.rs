//! Reads values from a configuration file, key by key, and collects the problems. `file` defines which keys exist.

use std::{fmt, time::Duration};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    ConfigProblem,
    problem::{KeyLocations, displayed_value},
    toml_value::{FromToml, items},
};
use crate::model::secret::SharedSecret;

/// Longest duration, in seconds: 100 years. Prevents overflows when durations are added to times.
pub(super) const SECS_MAX: u64 = 100 * 365 * 86_400;

/// Takes keys out of the parsed file. Keys that remain at the end are unknown.
pub(super) struct ConfigReader<'t> {
    text: &'t str,
    table: DeTable<'t>,
    problems: Vec<ConfigProblem>,
    locations: KeyLocations,
    /// All keys that were read, present or not.
    pub(super) known: Vec<String>,
}

/// A value that was taken out of the file.
struct ConfigValue<'t> {
    key: String,
    value: Spanned<DeValue<'t>>,
}

impl<'t> ConfigReader<'t> {
    /// Parses `text`. Fails with all syntax errors.
    pub(super) fn new(text: &'t str) -> Result<Self, Vec<ConfigProblem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            // Without the error's `Display` text: it quotes the line, which may contain a secret.
            let problem = |error: &toml::de::Error| ConfigProblem {
                line: Some(error.span().map_or(1, |span| line_of(text, span.start))),
                reason: error.message().to_owned(),
                ..ConfigProblem::default()
            };
            let mut problems: Vec<ConfigProblem> = errors.iter().map(problem).collect();
            problems.sort_by_key(|problem| problem.line);
            return Err(problems);
        }
        Ok(Self {
            text,
            table: table.into_inner(),
            problems: Vec::new(),
            locations: KeyLocations::default(),
            known: Vec::new(),
        })
    }

    fn take(&mut self, section: &str, key: &str) -> Option<ConfigValue<'t>> {
        let name = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
        self.known.push(name.clone());
        let value = match section {
            "" => self.table.remove(key)?,
            _ => match self.table.get_mut(section)?.get_mut() {
                DeValue::Table(table) => table.remove(key)?,
                _ => return None, // reported by `finish`
            },
        };
        let (line, text) = self.position(value.span());
        self.locations.record(name.clone(), line, text);
        Some(ConfigValue { key: name, value })
    }

    /// Returns the line and the text of a part of the file.
    fn position(&self, span: std::ops::Range<usize>) -> (usize, String) {
        (line_of(self.text, span.start), displayed_value(self.text.get(span).unwrap_or_default()))
    }

    /// Records a problem with the part `span` of the value of `key`.
    fn refuse(&mut self, key: &str, span: std::ops::Range<usize>, reason: String) {
        let (line, value) = self.position(span);
        self.problems.push(ConfigProblem { key: key.to_owned(), value, line: Some(line), reason });
    }

    /// Reads a string before the first section.
    pub(super) fn top_level<T>(&mut self, key: &str, into: &mut T, parse: impl FnOnce(String) -> Result<T, String>) {
        self.parsed("", key, into, parse);
    }

    /// Reads a value without further checks.
    pub(super) fn value<T: FromToml>(&mut self, section: &str, key: &str, into: &mut T) {
        self.parsed(section, key, into, Ok);
    }

    /// Reads a value and converts it with `parse`, which returns the reason if the value is not valid.
    pub(super) fn parsed<R: FromToml, T>(
        &mut self,
        section: &str,
        key: &str,
        into: &mut T,
        parse: impl FnOnce(R) -> Result<T, String>,
    ) {
        let Some(entry) = self.take(section, key) else { return };
        match R::from_toml(entry.value.get_ref()).and_then(parse) {
            Ok(value) => *into = value,
            Err(reason) => self.refuse(&entry.key, entry.value.span(), reason),
        }
    }

    /// Reads a secret. Problems do not show its value.
    pub(super) fn secret(&mut self, section: &str, key: &str, into: &mut Option<SharedSecret>) {
        let Some(entry) = self.take(section, key) else { return };
        let (line, _) = self.position(entry.value.span());
        let hidden = "***".to_owned();
        self.locations.record(entry.key.clone(), line, hidden.clone());
        let short = || format!("must have at least {} characters", SharedSecret::MIN_BYTES);
        match String::from_toml(entry.value.get_ref()).and_then(|text| SharedSecret::new(text).ok_or_else(short)) {
            Ok(secret) => *into = Some(secret),
            Err(reason) => {
                self.problems.push(ConfigProblem { key: entry.key, value: hidden, line: Some(line), reason });
            }
        }
    }

    /// Reads a list and converts each item with `parse`. Each invalid item is a separate problem.
    pub(super) fn list<R: FromToml, T>(
        &mut self,
        section: &str,
        key: &str,
        into: &mut Vec<T>,
        parse: impl Fn(R) -> Result<T, String>,
    ) {
        let Some(entry) = self.take(section, key) else { return };
        let items = match items(entry.value.get_ref()) {
            Ok(items) => items,
            Err(reason) => return self.refuse(&entry.key, entry.value.span(), reason),
        };
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            match R::from_toml(item.get_ref()).and_then(&parse) {
                Ok(value) => list.push(value),
                Err(reason) => self.refuse(&entry.key, item.span(), reason),
            }
        }
        if list.len() == items.len() {
            *into = list;
        }
    }

    /// Records a problem if `list` is empty.
    pub(super) fn not_empty<T>(&mut self, section: &str, key: &str, list: &[T]) {
        if list.is_empty() {
            self.problems.push(self.locations.problem(&format!("{section}.{key}"), "[]", "must not be empty"));
        }
    }

    /// Reads a duration in whole seconds, at least `min`.
    pub(super) fn seconds(&mut self, section: &str, key: &str, min: u64, into: &mut Duration) {
        self.parsed(section, key, into, |secs: u64| match secs {
            s if s < min => Err(format!("must be at least {min} seconds")),
            s if s > SECS_MAX => Err(format!("must be at most {SECS_MAX} seconds")),
            s => Ok(Duration::from_secs(s)),
        });
    }

    /// Reads a number that is at least `min`.
    pub(super) fn at_least<T>(&mut self, section: &str, key: &str, min: &T, into: &mut T)
    where
        T: FromToml + PartialOrd + fmt::Display,
    {
        self.parsed(
            section,
            key,
            into,
            |value: T| {
                if value < *min { Err(format!("must be at least {min}")) } else { Ok(value) }
            },
        );
    }

    /// Returns the positions of the keys, and all problems in the order of the file. Must be called after all keys of
    /// `sections` were read.
    pub(super) fn finish(mut self, sections: &[&str]) -> (KeyLocations, Vec<ConfigProblem>) {
        let mut problems = std::mem::take(&mut self.problems);
        let mut unknown = |key: String, span: std::ops::Range<usize>, reason: String| {
            let line = Some(line_of(self.text, span.start));
            problems.push(ConfigProblem { key, line, reason, value: String::new() });
        };
        for (section, value) in &self.table {
            let (name, span) = (section.get_ref(), section.span());
            match value.get_ref() {
                DeValue::Table(rest) if sections.contains(&name.as_ref()) => {
                    for key in rest.keys() {
                        let name = format!("{name}.{}", key.get_ref());
                        let reason = format!("unknown key{}", self.suggestion(&name));
                        unknown(name, key.span(), reason);
                    }
                }
                DeValue::Table(_) => {
                    unknown(
                        name.to_string(),
                        span,
                        format!("unknown section; expected one of {}", sections.join(", ")),
                    );
                }
                _ if sections.contains(&name.as_ref()) => {
                    unknown(name.to_string(), span, format!("must be a table: write [{name}] on a line of its own"));
                }
                _ => unknown(name.to_string(), span, format!("unknown key{}", self.suggestion(name))),
            }
        }
        problems.sort_by_key(|problem| problem.line);
        (self.locations, problems)
    }

    /// Returns a suggestion with the known key that is most similar to `name`, or an empty string.
    fn suggestion(&self, name: &str) -> String {
        let distances = self.known.iter().map(|known| (strsim::damerau_levenshtein(known, name), known));
        match distances.min() {
            Some((1..=3, known)) => format!("; did you mean {known}?"),
            _ => String::new(),
        }
    }
}

/// Returns the line of the byte at `offset`, counted from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}
