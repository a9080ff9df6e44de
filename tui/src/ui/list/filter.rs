//! What a typed filter means.
//!
//! Words are parts that all must be there, in small letters whatever the case. `!w` not, `^w` at the
//! beginning, `w$` at the end, `~w` its letters in this order; `column:word` looks at one column,
//! `column:>1g` and `column:<2h` at its size or age.

use std::{borrow::Cow, ops::Range};

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Atom {
    not: bool,
    /// Looks at one column in place of the name.
    column: Option<String>,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Part(String),
    Begins(String),
    Ends(String),
    Letters(String),
    More(i64),
    Less(i64),
}

/// A filter, understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    text: String,
    atoms: Vec<Atom>,
}

/// What a row tells a filter.
pub(crate) trait Haystack {
    /// The text that plain words are looked for in.
    fn text(&self) -> Cow<'_, str>;
    /// The text of a column.
    fn column(&self, name: &str) -> Option<String>;
    /// The size of a column in bytes, its age in seconds, or its number.
    fn number(&self, name: &str) -> Option<i64>;
}

impl Filter {
    /// Reads `text`; columns other than `known` are refused.
    pub(crate) fn parse(text: &str, known: &[&str]) -> Result<Self, String> {
        let atoms = text.split_whitespace().map(|word| atom(word, known)).collect::<Result<_, _>>()?;
        Ok(Self { text: text.trim().to_owned(), atoms })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The longest word that must be in a name, if there is one.
    pub(crate) fn word(&self) -> Option<&str> {
        let plain = self.atoms.iter().filter(|atom| !atom.not && atom.column.is_none());
        let words = plain.filter_map(|atom| match &atom.test {
            Test::Part(word) | Test::Begins(word) | Test::Ends(word) => Some(word.as_str()),
            Test::Letters(_) | Test::More(_) | Test::Less(_) => None,
        });
        words.max_by_key(|word| word.len()).filter(|word| !word.is_empty())
    }

    /// Where in a cell of `column` it is what is looked for, as places of bytes. `named` says whether
    /// plain words are looked for in that cell.
    pub(crate) fn places(&self, cell: &str, column: &str, named: bool) -> Vec<Range<usize>> {
        let small = cell.to_lowercase();
        if small.len() != cell.len() {
            // Where small letters are longer than capitals, places cannot be compared.
            return Vec::new();
        }
        let own = |atom: &&Atom| match &atom.column {
            Some(name) => name.eq_ignore_ascii_case(column),
            None => named,
        };
        let atoms = self.atoms.iter().filter(|atom| !atom.not).filter(own);
        atoms.flat_map(|atom| atom.test.places(cell, &small)).collect()
    }

    /// Whether it certainly takes no row that `before` does not take.
    pub(crate) fn narrows(&self, before: &Self) -> bool {
        self.atoms.len() >= before.atoms.len()
            && self.atoms.iter().zip(&before.atoms).all(|(new, old)| new == old || new.narrows(old))
    }

    pub(crate) fn takes(&self, row: &impl Haystack) -> bool {
        if self.atoms.is_empty() {
            return true;
        }
        let all = row.text();
        // A list may have a hundred thousand rows, and most names are small already.
        let is_small = !all.bytes().any(|b| b.is_ascii_uppercase() || !b.is_ascii());
        let small = if is_small { Cow::Borrowed(&*all) } else { Cow::Owned(all.to_lowercase()) };
        self.atoms.iter().all(|atom| atom.takes(row, &all, &small) != atom.not)
    }
}

fn atom(word: &str, known: &[&str]) -> Result<Atom, String> {
    let (not, word) = word.strip_prefix('!').map_or((false, word), |rest| (true, rest));
    let (column, word) = match word.split_once(':') {
        Some((column, rest)) if known.contains(&column) => (Some(column.to_owned()), rest),
        Some((column, _)) if column.chars().all(|c| c.is_ascii_lowercase()) && !column.is_empty() => {
            return Err(format!("no column '{column}'; there are: {}", known.join(", ")));
        }
        _ => (None, word),
    };
    let test = match (word.strip_prefix('>'), word.strip_prefix('<')) {
        (Some(bound), _) if column.is_some() => Test::More(number(bound)?),
        (_, Some(bound)) if column.is_some() => Test::Less(number(bound)?),
        _ => plain(word),
    };
    Ok(Atom { not, column, test })
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

/// `1g` in bytes, `2h` in seconds, `7` as it is.
fn number(text: &str) -> Result<i64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "s" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        other => return Err(format!("'{other}' is no unit; there are: k m g, s min h d")),
    };
    let number: i64 = digits.parse().map_err(|_| format!("'{text}' is no number"))?;
    Ok(number.saturating_mul(factor))
}

impl Atom {
    /// Whether it is `old` with more letters.
    fn narrows(&self, old: &Self) -> bool {
        let longer = match (&self.test, &old.test) {
            (Test::Part(new), Test::Part(old))
            | (Test::Begins(new), Test::Begins(old))
            | (Test::Letters(new), Test::Letters(old)) => {
                // A capital changes where all of the word is looked for.
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
            test => match own {
                None => test.text(all, small),
                Some(name) => row.column(name).is_some_and(|text| test.text(&text, &text.to_lowercase())),
            },
        }
    }
}

impl Test {
    /// The places of a text that are what is looked for.
    fn places(&self, all: &str, small: &str) -> Vec<Range<usize>> {
        let place = |word: &str| if word.chars().any(char::is_uppercase) { all } else { small };
        match self {
            Self::Part(word) | Self::Begins(word) | Self::Ends(word) | Self::Letters(word) if word.is_empty() => {
                Vec::new()
            }
            Self::Part(word) => place(word).match_indices(word.as_str()).map(|(at, w)| at..at + w.len()).collect(),
            Self::Begins(word) => place(word).starts_with(word.as_str()).then_some(0..word.len()).into_iter().collect(),
            Self::Ends(word) => {
                let begin = all.len().saturating_sub(word.len());
                place(word).ends_with(word.as_str()).then_some(begin..all.len()).into_iter().collect()
            }
            Self::Letters(word) => {
                let mut rest = place(word).char_indices();
                let letter = |wanted: char| rest.find(|(_, c)| *c == wanted).map(|(at, c)| at..at + c.len_utf8());
                word.chars().map_while(letter).collect()
            }
            Self::More(_) | Self::Less(_) => Vec::new(),
        }
    }

    /// A word with a capital means it.
    fn text(&self, all: &str, small: &str) -> bool {
        let place = |word: &str| if word.chars().any(char::is_uppercase) { all } else { small };
        match self {
            Self::Part(word) => place(word).contains(word.as_str()),
            Self::Begins(word) => place(word).starts_with(word.as_str()),
            Self::Ends(word) => place(word).ends_with(word.as_str()),
            Self::Letters(word) => {
                let place = place(word);
                let mut rest = place.chars();
                word.chars().all(|wanted| rest.any(|c| c == wanted))
            }
            Self::More(_) | Self::Less(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Row;

    impl Haystack for Row {
        fn text(&self) -> Cow<'_, str> {
            "infra/Gateway".into()
        }

        fn column(&self, name: &str) -> Option<String> {
            (name == "state").then(|| "failed".to_owned())
        }

        fn number(&self, name: &str) -> Option<i64> {
            (name == "size").then_some(2 << 30)
        }
    }

    fn takes(text: &str) -> bool {
        Filter::parse(text, &["state", "size"]).unwrap().takes(&Row)
    }

    #[test]
    fn words_are_parts_that_all_must_be_there() {
        for good in ["", "gate infra", "!mobile", "^infra", "way$", "~ifgw", "Gate", "state:fail size:>1g", "size:<3g"]
        {
            assert!(takes(good), "{good}");
        }
        for bad in
            ["mobile", "!gate", "^gate", "infra$", "~wgfi", "GATE", "state:ok", "size:>2g", "size:<1k", "infra x"]
        {
            assert!(!takes(bad), "{bad}");
        }
    }

    #[test]
    fn more_letters_narrow_and_nothing_else_does() {
        let parse = |text| Filter::parse(text, &["state", "size"]).unwrap();
        for (new, old) in [
            ("g", ""),
            ("ga", "g"),
            ("ga x", "ga"),
            ("^in", "^i"),
            ("~gt", "~g"),
            ("state:fa", "state:f"),
            ("!a b", "!a"),
        ] {
            assert!(parse(new).narrows(&parse(old)), "{new} after {old}");
        }
        for (new, old) in [
            ("g", "ga"),
            ("", "g"),
            ("!ga", "!g"),
            ("ay$", "y$"),
            ("ay$", "ay"),
            ("GA", "g"),
            ("gA", "g"),
            ("b", "a"),
            ("state:f", "f"),
            ("size:>20", "size:>2"),
        ] {
            assert!(!parse(new).narrows(&parse(old)), "{new} after {old}");
        }
    }

    #[test]
    fn what_is_looked_for_is_found_in_a_cell() {
        let places = |text: &str, cell: &str, column: &str, named: bool| {
            let filter = Filter::parse(text, &["state", "size"]).unwrap();
            filter.places(cell, column, named).into_iter().map(|at| cell[at].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(places("way a !x", "infra/Gateway", "NAME", true), ["way", "a", "a", "a"]);
        assert_eq!(places("^in ay$ ~IG", "Infra/Gateway", "NAME", true), ["In", "ay", "I", "G"]);
        assert_eq!(places("way state:FA", "FAILED", "STATE", false), ["FA"]);
        assert_eq!(places("way state:fa", "way", "NAME", false), Vec::<String>::new());
        assert_eq!(places("size:>1k ! ^", "10 KiB", "SIZE", true), Vec::<String>::new());
        assert_eq!(places("語", "日本語", "NAME", true), ["語"]);
        assert_eq!(places("i", "İi", "NAME", true), Vec::<String>::new(), "places differ in small letters");
    }

    #[test]
    fn the_word_that_the_daemon_can_look_for_is_the_longest_that_must_be_there() {
        let word = |text: &str| Filter::parse(text, &["size"]).unwrap().word().map(str::to_owned);
        assert_eq!(word("a gate !longest size:>1g ~letters"), Some("gate".to_owned()));
        assert_eq!(word("!gate size:<2k"), None);
        assert_eq!(word("^"), None);
    }

    #[test]
    fn wrong_grammar_says_what_is_possible() {
        let parse = |text| Filter::parse(text, &["state", "size"]).unwrap_err();
        assert_eq!(parse("color:red"), "no column 'color'; there are: state, size");
        assert_eq!(parse("size:>1x"), "'x' is no unit; there are: k m g, s min h d");
        assert_eq!(parse("size:>"), "'' is no number");
        assert!(Filter::parse("https://host", &[]).is_err());
        assert!(Filter::parse("10:30", &[]).is_ok());
    }
}
