//! Objects that a word matches.

use std::fmt::Write as _;

use farrier_common::client::RepositoryPath;

/// Name of the search for branches, which needs a repository.
pub(super) const BRANCHES: &str = "branches";

/// The word to look for, and the repository whose branches, tags and commits are included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectSearch {
    pub(crate) word: String,
    pub(crate) repository: Option<RepositoryPath>,
}

/// An object that a word matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundObject {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// What distinguishes it from objects with the same name.
    pub(crate) about: String,
    /// The command line that shows it.
    pub(crate) line: String,
    /// Whether the word is its complete name.
    pub(crate) exact: bool,
}

/// The objects that a word matches, those with exactly this name first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundObjects {
    pub(crate) word: String,
    pub(crate) objects: Vec<FoundObject>,
    /// The kinds that were searched.
    pub(crate) searched: Vec<&'static str>,
    /// The kinds that the daemon refused to list, or failed to.
    pub(crate) failed: Vec<&'static str>,
}

impl FoundObjects {
    /// Returns the object that the word means: the only one, or the only one with exactly this name.
    pub(crate) fn unique(&self) -> Option<&FoundObject> {
        let mut exact = self.objects.iter().filter(|one| one.exact);
        match (self.objects.as_slice(), exact.next(), exact.next()) {
            ([one], ..) | (_, Some(one), None) => Some(one),
            _ => None,
        }
    }

    /// Describes what was looked for without success.
    pub(crate) fn nothing(&self) -> String {
        let mut text = format!("'{}' is neither a command nor the name of an object.", self.word);
        if !self.searched.is_empty() {
            let _ = write!(text, " Searched: {}.", self.searched.join(", "));
        }
        if !self.failed.is_empty() {
            let _ = write!(text, " Not available: {}.", self.failed.join(", "));
        }
        if !self.searched.contains(&BRANCHES) && !self.failed.contains(&BRANCHES) {
            text.push_str(" Open a repository to search its branches, tags and commits.");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, exact: bool) -> FoundObject {
        let (about, line) = (String::new(), format!("repo show {name}"));
        FoundObject { kind: "repository", name: name.to_owned(), about, line, exact }
    }

    #[test]
    fn a_word_means_the_only_object_or_the_only_one_with_exactly_this_name() {
        let found = |objects: Vec<FoundObject>| FoundObjects { objects, ..FoundObjects::default() };
        assert_eq!(found(Vec::new()).unique(), None);
        assert_eq!(found(vec![object("a/tool", false)]).unique(), Some(&object("a/tool", false)));
        let two = vec![object("a/tool", true), object("a/tools", false)];
        assert_eq!(found(two).unique(), Some(&object("a/tool", true)));
        assert_eq!(found(vec![object("a/tool", true), object("b/tool", true)]).unique(), None);
        assert_eq!(found(vec![object("a/tools", false), object("b/tools", false)]).unique(), None);
    }

    #[test]
    fn a_search_without_result_names_what_was_searched() {
        let found = FoundObjects {
            word: "x".into(),
            searched: vec!["repositories", "users"],
            failed: vec!["hooks"],
            ..FoundObjects::default()
        };
        assert_eq!(
            found.nothing(),
            "'x' is neither a command nor the name of an object. Searched: repositories, users. Not available: hooks. \
             Open a repository to search its branches, tags and commits."
        );
    }
}
