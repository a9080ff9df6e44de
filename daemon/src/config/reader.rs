//! Takes values out of a configuration file, key by key, and collects all that is wrong with it.
//!
//! Does not know which keys exist; `file` does.

use std::{fmt, time::Duration};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Problem,
    problem::{Given, shown},
    toml_value::{FromToml, entries},
};

/// A hundred years: beyond it, times overflow somewhere.
pub(super) const SECS_MAX: u64 = 100 * 365 * 86_400;

/// Takes keys out of the file; what is left over is unknown.
pub(super) struct Reader<'t> {
    text: &'t str,
    table: DeTable<'t>,
    problems: Vec<Problem>,
    given: Given,
    /// Every key that is understood.
    pub(super) known: Vec<String>,
}

/// A value that was taken out of the file.
struct ConfigValue<'t> {
    key: String,
    value: Spanned<DeValue<'t>>,
}

impl<'t> Reader<'t> {
    /// Reads `text`. If it is not TOML, the problems are all of its syntax errors.
    pub(super) fn new(text: &'t str) -> Result<Self, Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            // The error's own text shows the line, which may hold a secret.
            let problem = |error: &toml::de::Error| Problem {
                line: Some(error.span().map_or(1, |span| line_of(text, span.start))),
                reason: error.message().to_owned(),
                ..Problem::default()
            };
            let mut problems: Vec<Problem> = errors.iter().map(problem).collect();
            problems.sort_by_key(|problem| problem.line);
            return Err(problems);
        }
        Ok(Self { text, table: table.into_inner(), problems: Vec::new(), given: Given::default(), known: Vec::new() })
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
        let (line, text) = self.place(value.span());
        self.given.note(name.clone(), line, text);
        Some(ConfigValue { key: name, value })
    }

    /// The line and the text of a part of the file.
    fn place(&self, span: std::ops::Range<usize>) -> (usize, String) {
        (line_of(self.text, span.start), shown(self.text.get(span).unwrap_or_default()))
    }

    /// Notes that the part `span` of the value of `key` is wrong.
    fn refuse(&mut self, key: &str, span: std::ops::Range<usize>, reason: String) {
        let (line, value) = self.place(span);
        self.problems.push(Problem { key: key.to_owned(), value, line: Some(line), reason });
    }

    /// A string that stands outside of all sections.
    pub(super) fn outside<T>(&mut self, key: &str, into: &mut T, parse: impl FnOnce(String) -> Result<T, String>) {
        self.parsed("", key, into, parse);
    }

    /// A value as it stands.
    pub(super) fn value<T: FromToml>(&mut self, section: &str, key: &str, into: &mut T) {
        self.parsed(section, key, into, Ok);
    }

    /// A value that is parsed and checked from another one; `parse` gives the reason of a refusal.
    pub(super) fn parsed<R: FromToml, T>(
        &mut self,
        section: &str,
        key: &str,
        into: &mut T,
        parse: impl FnOnce(R) -> Result<T, String>,
    ) {
        let Some(taken) = self.take(section, key) else { return };
        match R::from_toml(taken.value.get_ref()).and_then(parse) {
            Ok(value) => *into = value,
            Err(reason) => self.refuse(&taken.key, taken.value.span(), reason),
        }
    }

    /// A list whose entries are parsed one by one; every bad entry is a problem of its own.
    pub(super) fn list<R: FromToml, T>(
        &mut self,
        section: &str,
        key: &str,
        into: &mut Vec<T>,
        parse: impl Fn(R) -> Result<T, String>,
    ) {
        let Some(taken) = self.take(section, key) else { return };
        let found = match entries(taken.value.get_ref()) {
            Ok(found) => found,
            Err(reason) => return self.refuse(&taken.key, taken.value.span(), reason),
        };
        let mut list = Vec::with_capacity(found.len());
        for entry in found {
            match R::from_toml(entry.get_ref()).and_then(&parse) {
                Ok(value) => list.push(value),
                Err(reason) => self.refuse(&taken.key, entry.span(), reason),
            }
        }
        if list.len() == found.len() {
            *into = list;
        }
    }

    /// Refuses an empty list where the file gives one.
    pub(super) fn not_empty<T>(&mut self, section: &str, key: &str, list: &[T]) {
        if list.is_empty() {
            self.problems.push(self.given.problem(&format!("{section}.{key}"), "[]", "must not be empty"));
        }
    }

    /// A duration in whole seconds.
    pub(super) fn seconds(&mut self, section: &str, key: &str, least: u64, into: &mut Duration) {
        self.parsed(section, key, into, |secs: u64| match secs {
            s if s < least => Err(format!("must be at least {least} seconds")),
            s if s > SECS_MAX => Err(format!("must be at most {SECS_MAX} seconds")),
            s => Ok(Duration::from_secs(s)),
        });
    }

    /// A number that is not too small.
    pub(super) fn at_least<T>(&mut self, section: &str, key: &str, least: &T, into: &mut T)
    where
        T: FromToml + PartialOrd + fmt::Display,
    {
        self.parsed(section, key, into, |value: T| {
            if value < *least { Err(format!("must be at least {least}")) } else { Ok(value) }
        });
    }

    /// Where the file sets each key, and what is wrong, in the order of the file. To be called when all keys of
    /// `sections` were read.
    pub(super) fn finish(mut self, sections: &[&str]) -> (Given, Vec<Problem>) {
        let mut problems = std::mem::take(&mut self.problems);
        let mut unknown = |key: String, span: std::ops::Range<usize>, reason: String| {
            let line = Some(line_of(self.text, span.start));
            problems.push(Problem { key, line, reason, value: String::new() });
        };
        for (section, value) in &self.table {
            let (name, span) = (section.get_ref(), section.span());
            match value.get_ref() {
                DeValue::Table(rest) if sections.contains(&name.as_ref()) => {
                    for key in rest.keys() {
                        let name = format!("{name}.{}", key.get_ref());
                        let reason = format!("unknown key{}", self.similar(&name));
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
                _ => unknown(name.to_string(), span, format!("unknown key{}", self.similar(name))),
            }
        }
        problems.sort_by_key(|problem| problem.line);
        (self.given, problems)
    }

    /// The known key that is spelled most like `name`, as a question.
    fn similar(&self, name: &str) -> String {
        let distances = self.known.iter().map(|known| (strsim::damerau_levenshtein(known, name), known));
        match distances.min() {
            Some((1..=3, known)) => format!("; did you mean {known}?"),
            _ => String::new(),
        }
    }
}

/// The line of the byte `at`, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}
