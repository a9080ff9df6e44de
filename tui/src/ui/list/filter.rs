//! What a typed filter means.
//!
//! Words are parts that all must be there, in small letters whatever the case. `!w` not, `^w` at the
//! beginning, `w$` at the end, `~w` its letters in this order; `column:word` looks at one column,
//! `column:>1g` and `column:<2h` at its size or age.

use std::borrow::Cow;

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
    fn wrong_grammar_says_what_is_possible() {
        let parse = |text| Filter::parse(text, &["state", "size"]).unwrap_err();
        assert_eq!(parse("color:red"), "no column 'color'; there are: state, size");
        assert_eq!(parse("size:>1x"), "'x' is no unit; there are: k m g, s min h d");
        assert_eq!(parse("size:>"), "'' is no number");
        assert!(Filter::parse("https://host", &[]).is_err());
        assert!(Filter::parse("10:30", &[]).is_ok());
    }
}
