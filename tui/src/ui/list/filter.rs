//! Parses filters and matches rows.
//!
//! A row must match every word; letter case matters only for words with a capital. `!w` excludes, `^w` matches the
//! beginning, `w$` the end, `~w` the letters in this order. `column:word` matches one column, `column:=word` a column
//! with exactly this value; a value in quotes may contain blanks. Ages, sizes and numbers are written as the screen
//! prints them: `age:>12m`, `size:<1.5M`, `code:500`.

use std::{borrow::Cow, ops::Range};

use super::units::{FilterColumn, Unit};
use crate::ui::words::lowercase_in_place;

/// One word of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Atom {
    not: bool,
    /// The column to match; `None` for the text of the row.
    column: Option<String>,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Part(String),
    Begins(String),
    Ends(String),
    Letters(String),
    /// The whole value of a column.
    Exactly(String),
    More(i64),
    Less(i64),
    /// A number that the screen prints the same way.
    Same(FilterColumn, i64),
}

/// A syntax error in a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadFilter {
    /// Byte range of the word.
    pub(crate) at: Range<usize>,
    /// The error and the allowed values.
    pub(crate) text: String,
}

/// A parsed filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    text: String,
    atoms: Vec<Atom>,
}

/// The content of a row that filters match.
pub(crate) trait Haystack {
    /// Returns the text that words without a column match.
    fn text(&self) -> Cow<'_, str>;
    /// Returns the text of a column.
    fn column(&self, name: &str) -> Option<String>;
    /// Returns whether `value` is the value of a column, in any case. Columns that combine several values override it.
    fn is_exactly(&self, name: &str, value: &str) -> bool {
        self.column(name).is_some_and(|text| text.eq_ignore_ascii_case(value))
    }
    /// Returns the value of a column: a size in bytes, an age in seconds or a number.
    fn number(&self, name: &str) -> Option<i64>;
}

impl Filter {
    /// Parses `text`, whose words may name the columns `known`.
    pub(crate) fn parse(text: &str, known: &[FilterColumn]) -> Result<Self, BadFilter> {
        let mut atoms = Vec::new();
        for at in words(text) {
            atoms.push(atom(&text[at.clone()], known).map_err(|text| BadFilter { at, text })?);
        }
        Ok(Self { text: text.trim().to_owned(), atoms })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the longest word that every match contains. The daemon can search for it.
    pub(crate) fn word(&self) -> Option<&str> {
        let plain = self.atoms.iter().filter(|atom| !atom.not && atom.column.is_none());
        let words = plain.filter_map(|atom| match &atom.test {
            Test::Part(word) | Test::Begins(word) | Test::Ends(word) => Some(word.as_str()),
            Test::Letters(_) | Test::Exactly(_) | Test::More(_) | Test::Less(_) | Test::Same(..) => None,
        });
        words.max_by_key(|word| word.len()).filter(|word| !word.is_empty())
    }

    /// Returns words that are parts of the text of every match, separated by blanks. `columns`: the columns whose texts
    /// are parts of the text of the row. Leaves out words that would make the result longer than `bytes_max`.
    pub(crate) fn required_words(&self, columns: &[&str], bytes_max: usize) -> String {
        let is_in_text = |atom: &&Atom| atom.column.as_deref().is_none_or(|name| columns.contains(&name));
        let mut all = String::new();
        for atom in self.atoms.iter().filter(|atom| !atom.not).filter(is_in_text) {
            let (Test::Part(value) | Test::Begins(value) | Test::Ends(value)) = &atom.test else { continue };
            for word in value.split_whitespace() {
                if all.len() + 1 + word.len() <= bytes_max {
                    all.extend([if all.is_empty() { "" } else { " " }, word]);
                }
            }
        }
        all
    }

    /// Returns the exact value that a column must have (`column:=value`).
    pub(crate) fn must_equal(&self, column: &str) -> Option<&str> {
        let mut of_column = self.atoms.iter().filter(|atom| !atom.not && atom.column.as_deref() == Some(column));
        of_column.find_map(|atom| if let Test::Exactly(value) = &atom.test { Some(value.as_str()) } else { None })
    }

    /// Returns the text that a column must contain, if the filter has exactly one word for it.
    pub(crate) fn must_hold(&self, column: &str) -> Option<&str> {
        let mut of_column = self.atoms.iter().filter(|atom| !atom.not && atom.column.as_deref() == Some(column));
        match (of_column.next().map(|atom| &atom.test), of_column.next()) {
            (Some(Test::Part(word) | Test::Exactly(word)), None) if !word.is_empty() => Some(word),
            _ => None,
        }
    }

    /// Returns the number that a column must equal, and the number that it must be below (`<`).
    pub(crate) fn must_be(&self, column: &str) -> (Option<i64>, Option<i64>) {
        let of_column = self.atoms.iter().filter(|atom| !atom.not && atom.column.as_deref() == Some(column));
        let mut found = (None, None);
        for atom in of_column {
            match atom.test {
                Test::Same(_, number) => found.0 = Some(number),
                Test::Less(number) => found.1 = Some(number),
                _ => {}
            }
        }
        found
    }

    /// Returns the byte ranges of a cell of `column` that the filter matches. `named` is whether words without a
    /// column match in this cell.
    pub(crate) fn match_ranges(&self, cell: &str, column: &str, named: bool) -> Vec<Range<usize>> {
        let Some(small) = lowercase_in_place(cell) else { return Vec::new() };
        let own = |atom: &&Atom| match &atom.column {
            Some(name) => name.eq_ignore_ascii_case(column),
            None => named,
        };
        let atoms = self.atoms.iter().filter(|atom| !atom.not).filter(own);
        atoms.flat_map(|atom| atom.test.match_ranges(cell, &small)).collect()
    }

    /// Returns whether every row that matches also matches `before`; false if unsure.
    pub(crate) fn narrows(&self, before: &Self) -> bool {
        self.atoms.len() >= before.atoms.len()
            && self.atoms.iter().zip(&before.atoms).all(|(new, old)| new == old || new.narrows(old))
    }

    /// Returns whether the text of a row in lower case decides whether it matches.
    pub(super) fn needs_only_lower_case(&self) -> bool {
        let is_lower = |word: &str| !word.chars().any(char::is_uppercase);
        self.atoms.iter().all(|atom| match &atom.test {
            Test::Part(word) | Test::Begins(word) | Test::Ends(word) | Test::Letters(word) => {
                atom.column.is_none() && is_lower(word)
            }
            Test::Exactly(_) | Test::More(_) | Test::Less(_) | Test::Same(..) => false,
        })
    }

    /// Returns whether a row with this text matches a filter that needs only the text in lower case.
    pub(super) fn takes_lower_case(&self, small: &str) -> bool {
        self.atoms.iter().all(|atom| atom.test.text(small, small) != atom.not)
    }

    pub(crate) fn takes(&self, row: &impl Haystack) -> bool {
        if self.atoms.is_empty() {
            return true;
        }
        let all = row.text();
        // Lists have up to a hundred thousand rows, and most names are lower case already.
        let is_small = !all.bytes().any(|b| b.is_ascii_uppercase() || !b.is_ascii());
        let small = if is_small { Cow::Borrowed(&*all) } else { Cow::Owned(all.to_lowercase()) };
        self.atoms.iter().all(|atom| atom.takes(row, &all, &small) != atom.not)
    }
}

/// Returns the range of each word in a filter. A value in quotes is part of its word: `object:="hook 7"`.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut rest = 0;
    while let Some(begin) = text[rest..].find(|c: char| !c.is_whitespace()).map(|at| rest + at) {
        let mut is_quoted = false;
        let end = text[begin..].char_indices().find(|(at, c)| {
            if *c == '"' && (is_quoted || text[begin..begin + at].ends_with([':', '='])) {
                is_quoted = !is_quoted;
            }
            c.is_whitespace() && !is_quoted
        });
        rest = end.map_or(text.len(), |(at, _)| begin + at);
        words.push(begin..rest);
    }
    words
}

/// Returns a value without its quotes.
fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').map_or(value, |rest| rest.strip_suffix('"').unwrap_or(rest))
}

fn atom(word: &str, known: &[FilterColumn]) -> Result<Atom, String> {
    let (not, word) = word.strip_prefix('!').map_or((false, word), |rest| (true, rest));
    let Some((name, value)) = word.split_once(':').filter(|(name, _)| is_name(name)) else {
        return Ok(Atom { not, column: None, test: plain(word) });
    };
    let Some(field) = known.iter().find(|field| field.name == name) else {
        let names: Vec<&str> = known.iter().map(|field| field.name).collect();
        return Err(format!("unknown column '{name}'; columns: {}", names.join(", ")));
    };
    let test = if let Some(bound) = value.strip_prefix('>') {
        Test::More(field.number(bound)?)
    } else if let Some(bound) = value.strip_prefix('<') {
        Test::Less(field.number(bound)?)
    } else if field.unit == Unit::Text || value.is_empty() {
        // `column:` and `column:=` without a value match all rows.
        match value.strip_prefix('=').map(unquoted) {
            Some("") => Test::Part(String::new()),
            Some(exact) => Test::Exactly(exact.to_owned()),
            None if value.is_empty() => Test::Part(String::new()),
            None => plain(unquoted(value)),
        }
    } else {
        Test::Same(*field, field.number(value)?)
    };
    Ok(Atom { not, column: Some(name.to_owned()), test })
}

/// Returns whether the text can be the name of a column; false for the `10` of `10:30`.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase())
}

fn plain(word: &str) -> Test {
    if let Some(rest) = word.strip_prefix('^') {
        Test::Begins(rest.to_owned())
    } else if let Some(rest) = word.strip_prefix('~') {
        Test::Letters(rest.to_owned())
    } else if let Some(rest) = word.strip_suffix('$') {
        Test::Ends(rest.to_owned())
    } else {
        Test::Part(word.to_owned())
    }
}

impl Atom {
    /// Returns whether it is `old` with more letters, so that it matches fewer rows.
    fn narrows(&self, old: &Self) -> bool {
        let longer = match (&self.test, &old.test) {
            (Test::Part(new), Test::Part(old))
            | (Test::Begins(new), Test::Begins(old))
            | (Test::Letters(new), Test::Letters(old)) => {
                // A capital makes the whole word case-sensitive.
                new.starts_with(old.as_str()) && !new.chars().any(char::is_uppercase)
            }
            _ => false,
        };
        longer && !self.not && !old.not && self.column == old.column
    }

    fn takes(&self, row: &impl Haystack, all: &str, small: &str) -> bool {
        let own = self.column.as_deref();
        match &self.test {
            Test::More(bound) => own.and_then(|name| row.number(name)).is_some_and(|number| number > *bound),
            Test::Less(bound) => own.and_then(|name| row.number(name)).is_some_and(|number| number < *bound),
            Test::Same(field, value) => row.number(field.name).is_some_and(|number| field.prints_alike(number, *value)),
            Test::Part(word) if word.is_empty() => true,
            Test::Exactly(value) => own.is_some_and(|name| row.is_exactly(name, value)),
            test => match own {
                None => test.text(all, small),
                Some(name) => row.column(name).is_some_and(|text| test.text(&text, &text.to_lowercase())),
            },
        }
    }
}

impl Test {
    /// Returns the matching byte ranges of a text.
    fn match_ranges(&self, all: &str, small: &str) -> Vec<Range<usize>> {
        let source = |word: &str| if word.chars().any(char::is_uppercase) { all } else { small };
        match self {
            Self::Part(word) | Self::Begins(word) | Self::Ends(word) | Self::Letters(word) if word.is_empty() => {
                Vec::new()
            }
            Self::Part(word) => source(word).match_indices(word.as_str()).map(|(at, w)| at..at + w.len()).collect(),
            Self::Begins(word) => {
                source(word).starts_with(word.as_str()).then_some(0..word.len()).into_iter().collect()
            }
            Self::Ends(word) => {
                let begin = all.len().saturating_sub(word.len());
                source(word).ends_with(word.as_str()).then_some(begin..all.len()).into_iter().collect()
            }
            Self::Letters(word) => {
                let mut rest = source(word).char_indices();
                let letter = |letter: char| rest.find(|(_, c)| *c == letter).map(|(at, c)| at..at + c.len_utf8());
                word.chars().map_while(letter).collect()
            }
            Self::Exactly(word) => all.eq_ignore_ascii_case(word).then_some(0..all.len()).into_iter().collect(),
            Self::More(_) | Self::Less(_) | Self::Same(..) => Vec::new(),
        }
    }

    /// Returns whether a text matches; a word with a capital is case-sensitive.
    fn text(&self, all: &str, small: &str) -> bool {
        let source = |word: &str| if word.chars().any(char::is_uppercase) { all } else { small };
        match self {
            Self::Part(word) => source(word).contains(word.as_str()),
            Self::Begins(word) => source(word).starts_with(word.as_str()),
            Self::Ends(word) => source(word).ends_with(word.as_str()),
            Self::Letters(word) => {
                let mut rest = source(word).chars();
                word.chars().all(|letter| rest.any(|c| c == letter))
            }
            Self::Exactly(_) | Self::More(_) | Self::Less(_) | Self::Same(..) => false,
        }
    }
}

#[cfg(test)]
mod tests;
