//! Any of several things, chosen from a list that opens below its field.

use std::collections::BTreeSet;

use crate::ui::key::Key;

/// Options that are seen at once.
const SEEN: usize = 6;

/// Options, those that are chosen, and the list while it is open.
#[derive(Clone, Debug)]
pub(crate) struct Many {
    /// Names and what they mean.
    options: Vec<(String, String)>,
    chosen: BTreeSet<usize>,
    open: Option<Open>,
}

#[derive(Clone, Debug, Default)]
struct Open {
    typed: String,
    at: usize,
}

impl Many {
    pub(super) fn new(options: Vec<(String, String)>, chosen: &[String]) -> Self {
        let chosen = (0..options.len()).filter(|at| chosen.contains(&options[*at].0)).collect();
        Self { options, chosen, open: None }
    }

    /// Chooses exactly the options with these names.
    pub(super) fn choose(&mut self, names: &[&str]) {
        self.chosen = (0..self.options.len()).filter(|at| names.contains(&self.options[*at].0.as_str())).collect();
    }

    /// What the open list is searched for.
    pub(super) fn typed(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.typed.as_str())
    }

    /// The names that are chosen, or all.
    pub(super) fn names(&self, all: bool) -> Vec<String> {
        let places = (0..self.options.len()).filter(|at| all || self.chosen.contains(at));
        places.map(|at| self.options[at].0.clone()).collect()
    }

    /// Places of the options that are shown.
    fn shown(&self) -> Vec<usize> {
        let typed = self.open.as_ref().map_or("", |open| open.typed.as_str());
        (0..self.options.len()).filter(|at| self.options[*at].0.contains(typed)).collect()
    }

    /// Takes a key; an open list takes all but those that leave the field.
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

    /// `push, create   2 of 24   Enter opens`
    pub(super) fn summary(&self) -> String {
        let count = format!("{} of {}", self.chosen.len(), self.options.len());
        match &self.open {
            Some(open) => format!("{count}   type to filter: {}   Space toggles, * all, Enter done", open.typed),
            None if self.chosen.len() > 4 => format!("{count}   Enter opens"),
            None => format!("{}   {count}   Enter opens", self.names(false).join(", ")),
        }
    }

    /// The lines of the open list, and whether each is the one under the cursor.
    pub(super) fn lines(&self) -> Vec<(bool, String)> {
        let Some(open) = &self.open else { return Vec::new() };
        let shown = self.shown();
        let top = open.at.saturating_sub(SEEN - 1);
        let line = |(place, at): (usize, &usize)| {
            let sign = if self.chosen.contains(at) { "[x]" } else { "[ ]" };
            let (name, meaning) = &self.options[*at];
            let cursor = if place == open.at { ">" } else { " " };
            (place == open.at, format!("{cursor}{sign} {name:<24} {meaning}"))
        };
        shown.iter().enumerate().skip(top).take(SEEN).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many() -> Many {
        let option = |name: &str| (name.to_owned(), String::new());
        Many::new(["push", "create", "pull_request"].map(option).to_vec(), &["create".to_owned()])
    }

    #[test]
    fn options_are_found_by_typing_and_toggled() {
        let mut many = many();
        assert!(!many.key(Key::Down), "a closed list moves nothing");
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
        assert!(!many.key(Key::Tab), "leaving is the form's business");
    }
}
