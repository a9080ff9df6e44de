//! What is wrong with a configuration, in the words of the person who wrote it.

use std::{collections::BTreeMap, fmt};

/// Longest part of a value that a problem repeats, in characters.
const VALUE_MAX_CHARS: usize = 80;

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// `section.key`, a flag such as `--listen`, or empty if the file is not TOML at all.
    pub key: String,
    /// The offending value as it is written, without credentials. Empty: the value is not what is wrong.
    pub value: String,
    /// The line of the file, counted from 1. `None`: the value does not come from the file.
    pub line: Option<usize>,
    /// What is wrong and what would be right.
    pub reason: String,
}

impl Problem {
    /// A problem that belongs to no line of the file.
    pub fn new(key: impl Into<String>, value: &str, reason: impl Into<String>) -> Self {
        Self { key: key.into(), value: shown(value), line: None, reason: reason.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match (self.key.as_str(), self.value.as_str()) {
            ("", _) => {}
            (key, "") => write!(f, "{key}: ")?,
            (key, value) => write!(f, "{key} = {value}: ")?,
        }
        f.write_str(&self.reason)
    }
}

/// Where a configuration file sets its keys.
#[derive(Clone, Debug, Default)]
pub struct Given(BTreeMap<String, (usize, String)>);

impl Given {
    /// Notes that `key` is set on `line` to `value`.
    pub(super) fn note(&mut self, key: String, line: usize, value: String) {
        self.0.insert(key, (line, value));
    }

    /// Forgets `key`: a flag has replaced the value of the file.
    pub fn replaced_by_flag(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// A problem with the value of `key`, which is `value`; with its line if the file sets it.
    pub fn problem(&self, key: &str, value: &str, reason: impl Into<String>) -> Problem {
        let mut problem = Problem::new(key, value, reason);
        if let Some((line, written)) = self.0.get(key) {
            problem.line = Some(*line);
            problem.value.clone_from(written);
        }
        problem
    }
}

/// A value for messages: its first line, not too long, and nothing of what stands before an `@`, where
/// addresses have their credentials.
pub(super) fn shown(value: &str) -> String {
    let line = value.trim().lines().next().unwrap_or_default();
    let line = match line.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map_or(if before.starts_with('"') { "\"" } else { "" }, |(s, _)| s);
            let separator = if before.contains("://") { "://" } else { "" };
            format!("{scheme}{separator}***@{host}")
        }
        None => line.to_owned(),
    };
    if line.chars().count() <= VALUE_MAX_CHARS {
        return line;
    }
    line.chars().take(VALUE_MAX_CHARS).collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        for (value, expected) in [
            ("\"http://u:s3cret@h:1\"", "\"http://***@h:1\""),
            ("\"u:s3c@ret@h\"", "\"***@h\""),
            ("\"plain\"", "\"plain\""),
            ("[\n1]", "["),
        ] {
            assert_eq!(shown(value), expected);
        }
        assert_eq!(shown(&"x".repeat(100)).chars().count(), VALUE_MAX_CHARS + 1);
    }

    #[test]
    fn a_problem_names_line_key_and_value() {
        let mut given = Given::default();
        given.note("server.listen".into(), 7, "[\"x\"]".into());
        assert_eq!(given.problem("server.listen", "x", "no").to_string(), "line 7: server.listen = [\"x\"]: no");
        given.replaced_by_flag("server.listen");
        assert_eq!(given.problem("server.listen", "x", "no").to_string(), "server.listen = x: no");
    }
}
