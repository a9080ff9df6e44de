//! Takes values out of a configuration file, key by key, and remembers all that is wrong with it.
//!
//! Knows no key: which there are, `file` says.

use std::{fmt, time::Duration};

use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// A hundred years: beyond it, times overflow somewhere.
pub(super) const SECS_MAX: u64 = 100 * 365 * 86_400;

/// One thing that is wrong with a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `section.key`, or empty when the file is no TOML at all.
    pub key: String,
    /// What is wrong, in words.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() { f.write_str(&self.reason) } else { write!(f, "{}: {}", self.key, self.reason) }
    }
}

/// Takes keys out of the file; what is left over is unknown.
pub(super) struct Reader {
    table: Table,
    problems: Vec<Problem>,
    /// Every key that is understood.
    #[cfg(test)]
    pub(super) known: Vec<String>,
}

impl Reader {
    pub(super) fn new(table: Table) -> Self {
        Self {
            table,
            problems: Vec::new(),
            #[cfg(test)]
            known: Vec::new(),
        }
    }

    fn take<T: DeserializeOwned>(&mut self, section: &str, key: &str) -> Option<T> {
        #[cfg(test)]
        self.known.push(format!("{section}.{key}"));
        let value = match self.table.get_mut(section)? {
            Value::Table(table) => table.remove(key)?,
            _ => return None, // reported by `finish`
        };
        match value.try_into() {
            Ok(value) => Some(value),
            Err(error) => {
                self.problem(format!("{section}.{key}"), error.to_string().trim());
                None
            }
        }
    }

    fn problem(&mut self, key: impl Into<String>, reason: impl Into<String>) {
        self.problems.push(Problem { key: key.into(), reason: reason.into() });
    }

    /// A string that stands outside of all sections.
    pub(super) fn outside<T>(&mut self, key: &str, into: &mut T, parse: impl FnOnce(String) -> Result<T, String>) {
        #[cfg(test)]
        self.known.push(key.to_owned());
        let read = match self.table.remove(key) {
            None => return,
            Some(Value::String(text)) => parse(text),
            Some(_) => Err("must be a string".into()),
        };
        match read {
            Ok(value) => *into = value,
            Err(reason) => self.problem(key, reason),
        }
    }

    /// A value as it stands.
    pub(super) fn value<T: DeserializeOwned>(&mut self, section: &str, key: &str, into: &mut T) {
        if let Some(value) = self.take(section, key) {
            *into = value;
        }
    }

    /// A value that is parsed and checked from another one; `parse` gives the reason of a refusal.
    pub(super) fn parsed<R: DeserializeOwned, T>(
        &mut self,
        section: &str,
        key: &str,
        into: &mut T,
        parse: impl FnOnce(R) -> Result<T, String>,
    ) {
        let Some(raw) = self.take::<R>(section, key) else { return };
        match parse(raw) {
            Ok(value) => *into = value,
            Err(reason) => self.problem(format!("{section}.{key}"), reason),
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
        T: DeserializeOwned + PartialOrd + fmt::Display,
    {
        self.parsed(section, key, into, |value: T| {
            if value < *least { Err(format!("must be at least {least}")) } else { Ok(value) }
        });
    }

    /// What is wrong, now that all keys of these sections are read.
    pub(super) fn finish(mut self, sections: &[&str]) -> Result<(), Vec<Problem>> {
        for (section, value) in self.table {
            match value {
                _ if !sections.contains(&section.as_str()) => {
                    self.problems.push(Problem { key: section, reason: "unknown section".into() });
                }
                Value::Table(rest) => {
                    let unknown = rest.keys().map(|key| format!("{section}.{key}"));
                    self.problems.extend(unknown.map(|key| Problem { key, reason: "unknown key".into() }));
                }
                _ => self.problems.push(Problem { key: section, reason: "must be a table".into() }),
            }
        }
        if self.problems.is_empty() { Ok(()) } else { Err(self.problems) }
    }
}
