//! A field for any of several options, chosen from a list that opens below it.

use std::collections::BTreeSet;

use crate::ui::key::Key;

/// Number of visible options.
const VISIBLE: usize = 6;

/// The options, the chosen ones, and the state of the open list.
#[derive(Clone, Debug)]
pub(crate) struct MultiSelect {
    /// Names and descriptions.
    options: Vec<(String, String)>,
    chosen: BTreeSet<usize>,
    open: Option<Open>,
}

#[derive(Clone, Debug, Default)]
struct Open {
    typed: String,
    at: usize,
}

impl MultiSelect {
    pub(super) fn new(options: Vec<(String, String)>, chosen: &[String]) -> Self {
        let chosen = (0..options.len()).filter(|at| chosen.contains(&options[*at].0)).collect();
        Self { options, chosen, open: None }
    }

    /// Chooses exactly the options with these names.
    pub(super) fn choose(&mut self, names: &[&str]) {
        self.chosen = (0..self.options.len()).filter(|at| names.contains(&self.options[*at].0.as_str())).collect();
    }

    /// Returns whether the list is open.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the search text of the open list.
    pub(super) fn typed(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.typed.as_str())
    }

    /// Returns the chosen names, or all names.
    pub(super) fn names(&self, all: bool) -> Vec<String> {
        let indexes = (0..self.options.len()).filter(|at| all || self.chosen.contains(at));
        indexes.map(|at| self.options[at].0.clone()).collect()
    }

    /// Returns the indexes of the shown options.
    fn shown(&self) -> Vec<usize> {
        let typed = self.open.as_ref().map_or("", |open| open.typed.as_str());
        (0..self.options.len()).filter(|at| self.options[*at].0.contains(typed)).collect()
    }

    /// Handles a key. Returns whether it was used; an open list uses all keys except those that leave the field.
    pub(super) fn key(&mut self, key: Key) -> bool {
        let shown = self.shown();
        let Some(open) = &mut self.open else {
            let opens = matches!(key, Key::Enter | Key::Char(' ') | Key::Right);
            if opens {
                self.open = Some(Open::default());
            }
            return opens;
        };
        match key {
            Key::Enter | Key::Esc => self.open = None,
            Key::Tab | Key::BackTab | Key::Ctrl(_) => {
                self.open = None;
                return false;
            }
            Key::Down => open.at = (open.at + 1).min(shown.len().saturating_sub(1)),
            Key::Up => open.at = open.at.saturating_sub(1),
            Key::Char(' ') => {
                if let Some(at) = shown.get(open.at)
                    && !self.chosen.remove(at)
                {
                    self.chosen.insert(*at);
                }
            }
            Key::Char('*') => {
                if shown.iter().all(|at| self.chosen.contains(at)) {
                    self.chosen.retain(|at| !shown.contains(at));
                } else {
                    self.chosen.extend(shown);
                }
            }
            Key::Char(c) => {
                open.typed.push(c.to_ascii_lowercase());
                open.at = 0;
            }
            Key::Backspace => {
                open.typed.pop();
            }
            _ => {}
        }
        true
    }

    /// Formats the chosen names, for example `push, create   2 of 24   Enter opens`.
    pub(super) fn summary(&self) -> String {
        let count = format!("{} of {}", self.chosen.len(), self.options.len());
        match &self.open {
            Some(open) => format!("{count}   filter: {}", open.typed),
            None if self.chosen.len() > 4 => format!("{count}   Enter opens"),
            None => format!("{}   {count}   Enter opens", self.names(false).join(", ")),
        }
    }

    /// Returns the lines of the open list, and whether each has the cursor.
    pub(super) fn lines(&self) -> Vec<(bool, String)> {
        let Some(open) = &self.open else { return Vec::new() };
        let shown = self.shown();
        let top = open.at.saturating_sub(VISIBLE - 1);
        let longest = self.options.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let line = |(row, at): (usize, &usize)| {
            let sign = if self.chosen.contains(at) { "[x]" } else { "[ ]" };
            let (name, meaning) = &self.options[*at];
            let cursor = if row == open.at { ">" } else { " " };
            (row == open.at, format!("{cursor}{sign} {name:<longest$}  {meaning}"))
        };
        shown.iter().enumerate().skip(top).take(VISIBLE).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many() -> MultiSelect {
        let option = |name: &str| (name.to_owned(), String::new());
        MultiSelect::new(["push", "create", "pull_request"].map(option).to_vec(), &["create".to_owned()])
    }

    #[test]
    fn options_are_found_by_typing_and_toggled() {
        let mut many = many();
        assert!(!many.key(Key::Down), "a closed list ignores arrow keys");
        many.key(Key::Enter);
        for key in [Key::Char('p'), Key::Char('u'), Key::Down, Key::Char(' '), Key::Enter] {
            assert!(many.key(key));
        }
        assert_eq!(many.names(false), ["create", "pull_request"]);
        assert!(many.lines().is_empty());
        many.key(Key::Enter);
        many.key(Key::Char('*'));
        assert_eq!(many.names(false).len(), 3);
        many.key(Key::Char('*'));
        assert!(many.names(false).is_empty() && many.names(true).len() == 3);
        assert!(!many.key(Key::Tab), "the form handles keys that leave the field");
    }
}
