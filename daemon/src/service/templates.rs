//! Templates for new repositories, shipped with the daemon.

/// A license.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct License {
    /// Its SPDX identifier.
    pub key: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its text, with the placeholders `[year]` and `[fullname]`.
    pub body: &'static str,
}

/// A label of an issue tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// Six hexadecimal digits.
    pub color: &'static str,
    /// Its description.
    pub description: &'static str,
}

macro_rules! gitignores {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../data/gitignore/", $name, ".gitignore")))),*]
    };
}

/// Templates for `.gitignore`, sorted by name.
const GITIGNORES: &[(&str, &str)] = gitignores!["C", "C++", "Go", "Java", "Node", "Python", "Rust"];

macro_rules! licenses {
    ($($key:literal: $name:literal),*) => {
        &[$(License { key: $key, name: $name, body: include_str!(concat!("../../data/licenses/", $key, ".txt")) }),*]
    };
}

const LICENSES: &[License] = licenses![
    "0BSD": "BSD Zero Clause License",
    "Apache-2.0": "Apache License 2.0",
    "BSD-3-Clause": "BSD 3-Clause \"New\" or \"Revised\" License",
    "ISC": "ISC License",
    "MIT": "MIT License"
];

const LABELS: &[(&str, &[Label])] = &[(
    "Default",
    &[
        Label { name: "bug", color: "ee0701", description: "Something is not working" },
        Label { name: "enhancement", color: "84b6eb", description: "A new feature or an improvement" },
        Label { name: "help wanted", color: "128a0c", description: "Extra attention is needed" },
        Label { name: "question", color: "cc317c", description: "More information is needed" },
    ],
)];

/// Returns the names of the `.gitignore` templates, sorted.
pub fn gitignores() -> impl Iterator<Item = &'static str> {
    GITIGNORES.iter().map(|(name, _)| *name)
}

/// Returns the `.gitignore` template `name`, ignoring case.
pub fn gitignore(name: &str) -> Option<&'static str> {
    GITIGNORES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, text)| *text)
}

/// Returns all licenses, sorted by key.
pub fn licenses() -> &'static [License] {
    LICENSES
}

/// Returns the license with the SPDX identifier `key`, ignoring case.
pub fn license(key: &str) -> Option<&'static License> {
    LICENSES.iter().find(|license| license.key.eq_ignore_ascii_case(key))
}

/// Returns the names of the label sets.
pub fn label_sets() -> impl Iterator<Item = &'static str> {
    LABELS.iter().map(|(name, _)| *name)
}

/// Returns the labels of a set, ignoring case.
pub fn labels(set: &str) -> Option<&'static [Label]> {
    LABELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(set)).map(|(_, labels)| *labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_found_in_any_case() {
        assert!(gitignore("rust").is_some_and(|text| text.contains("target/")));
        assert!(gitignore("Cobol").is_none());
        assert!(license("mit").is_some_and(|license| license.body.contains("[year] [fullname]")));
        assert!(gitignores().is_sorted() && licenses().is_sorted_by_key(|license| license.key));
        assert_eq!(labels("default").map(<[_]>::len), Some(4));
    }
}
