//! Problems of a configuration, reported with the key and value as the user wrote them.

use std::{collections::BTreeMap, fmt};

/// Maximum length of a value in a problem, in characters.
const VALUE_MAX_CHARS: usize = 80;

/// A problem of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigProblem {
    /// `section.key`, a flag such as `--listen`, or empty if the file is not TOML at all.
    pub key: String,
    /// The value as written in the file, without credentials. Empty if the problem is not about the value.
    pub value: String,
    /// The line of the file, counted from 1. `None`: the value does not come from the file.
    pub line: Option<usize>,
    /// What is wrong and how to fix it.
    pub reason: String,
}

impl ConfigProblem {
    /// Creates a problem without a line.
    pub fn new(key: impl Into<String>, value: &str, reason: impl Into<String>) -> Self {
        Self { key: key.into(), value: displayed_value(value), line: None, reason: reason.into() }
    }
}

impl fmt::Display for ConfigProblem {
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

/// The positions of the keys in a configuration file: key, line and value.
#[derive(Clone, Debug, Default)]
pub struct KeyLocations(BTreeMap<String, (usize, String)>);

impl KeyLocations {
    /// Records that `line` sets `key` to `value`.
    pub(super) fn record(&mut self, key: String, line: usize, value: String) {
        self.0.insert(key, (line, value));
    }

    /// Removes `key`, because a flag has replaced the value of the file.
    pub fn replaced_by_flag(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Creates a problem with the value `value` of `key`, with the line if the file sets the key.
    pub fn problem(&self, key: &str, value: &str, reason: impl Into<String>) -> ConfigProblem {
        let mut problem = ConfigProblem::new(key, value, reason);
        if let Some((line, written)) = self.0.get(key) {
            problem.line = Some(*line);
            problem.value.clone_from(written);
        }
        problem
    }
}

/// Shortens a value for a message: its first line, limited in length, without the text before an `@`, where
/// addresses have their credentials.
pub(super) fn displayed_value(value: &str) -> String {
    let line = value.trim().lines().next().unwrap_or_default();
    let line = match line.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map_or(if before.starts_with('"') { "\"" } else { "" }, |(s, _)| s);
            let separator = if before.contains("://") { "://" } else { "" };
            format!("{scheme}{separator}***@{host}")
        }
        None => line.to_owned(),
    };
    let line = match line.split_once("password=") {
        Some((before, _)) => format!("{before}password=***"),
        None => line,
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
    fn credentials_are_masked_in_shown_values() {
        for (value, expected) in [
            ("\"http://u:s3cret@h:1\"", "\"http://***@h:1\""),
            ("\"u:s3c@ret@h\"", "\"***@h\""),
            ("\"postgresql://u@h/d?password=s3cret\"", "\"postgresql://***@h/d?password=***"),
            ("\"plain\"", "\"plain\""),
            ("[\n1]", "["),
        ] {
            assert_eq!(displayed_value(value), expected);
        }
        assert_eq!(displayed_value(&"x".repeat(100)).chars().count(), VALUE_MAX_CHARS + 1);
    }

    #[test]
    fn a_problem_shows_line_key_and_value() {
        let mut locations = KeyLocations::default();
        locations.record("server.listen".into(), 7, "[\"x\"]".into());
        assert_eq!(locations.problem("server.listen", "x", "no").to_string(), "line 7: server.listen = [\"x\"]: no");
        locations.replaced_by_flag("server.listen");
        assert_eq!(locations.problem("server.listen", "x", "no").to_string(), "server.listen = x: no");
    }
}
