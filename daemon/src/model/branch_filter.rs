//! The branch filter of a hook: a pattern for names of branches and tags. Pure.
//!
//! `*` and `**` stand for any run of characters, slashes too, `?` for one character, `[ab]`, `[a-z]`
//! and `[!ab]` for one of a set, `{a,b}` for one of several patterns, and `\` takes away a
//! character's meaning. A pattern fits as a whole, and case counts. Patterns become regular
//! expressions of a kind that is matched in linear time, whatever people write.

use regex::{Regex, RegexBuilder};

use crate::git::ref_name::{HEADS, TAGS};

/// Longest pattern, characters.
pub const MAX_CHARS: usize = 1_024;
/// Deepest `{…}` inside `{…}`.
const DEPTH_MAX: usize = 8;
/// Memory that one compiled pattern may take, bytes.
const COMPILED_MAX: usize = 1 << 20;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub enum BranchFilter {
    /// Everything passes.
    All,
    /// What fits the pattern passes.
    Pattern(Regex),
}

impl BranchFilter {
    /// Compiles `text`; the reason of a refusal otherwise.
    pub fn parse(text: &str) -> Result<Self, String> {
        if matches!(text, "" | "*" | "**") {
            return Ok(Self::All);
        }
        if text.chars().count() > MAX_CHARS {
            return Err(format!("the pattern is longer than {MAX_CHARS} characters"));
        }
        let expression = Translation::of(text)?;
        let compiled = RegexBuilder::new(&expression).size_limit(COMPILED_MAX).dot_matches_new_line(true).build();
        compiled.map(Self::Pattern).map_err(|_| "the pattern is too complex".to_owned())
    }

    /// Whether the ref of this full name passes. A branch passes under its short name, too; a tag
    /// only under its full one; other refs are not filtered.
    pub fn passes(&self, name: &str) -> bool {
        let Self::Pattern(pattern) = self else { return true };
        match name.strip_prefix(HEADS) {
            Some(branch) => pattern.is_match(branch) || pattern.is_match(name),
            None => !name.starts_with(TAGS) || pattern.is_match(name),
        }
    }
}

/// A pattern on its way to a regular expression.
struct Translation<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    depth: usize,
}

impl<'a> Translation<'a> {
    fn of(text: &'a str) -> Result<String, String> {
        let mut translation = Self { rest: text.chars().peekable(), out: String::from("^(?:"), depth: 0 };
        while let Some(next) = translation.rest.next() {
            translation.step(next)?;
        }
        if translation.depth > 0 {
            return Err("a { has no }".to_owned());
        }
        translation.out.push_str(")$");
        Ok(translation.out)
    }

    fn step(&mut self, next: char) -> Result<(), String> {
        match next {
            '*' => {
                while self.rest.next_if_eq(&'*').is_some() {}
                self.out.push_str(".*");
            }
            '?' => self.out.push('.'),
            '[' => self.class()?,
            '{' if self.depth == DEPTH_MAX => return Err(format!("{{ inside {{ goes {DEPTH_MAX} deep at most")),
            '{' => {
                self.depth += 1;
                self.out.push_str("(?:");
            }
            '}' if self.depth > 0 => {
                self.depth -= 1;
                self.out.push(')');
            }
            ',' if self.depth > 0 => self.out.push('|'),
            '\\' => {
                let literal = self.rest.next().ok_or("nothing follows the last \\")?;
                self.literal(literal);
            }
            other => self.literal(other),
        }
        Ok(())
    }

    fn literal(&mut self, literal: char) {
        self.out.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
    }

    /// What stands between `[` and `]`.
    fn class(&mut self) -> Result<(), String> {
        const OPEN: &str = "a [ has no ]";
        self.out.push('[');
        if self.rest.next_if_eq(&'!').is_some() {
            self.out.push('^');
        }
        let mut members = 0;
        loop {
            match self.rest.next().ok_or(OPEN)? {
                ']' if members > 0 => break,
                ']' => return Err("[] is empty".to_owned()),
                first => {
                    let first = self.member(first)?;
                    members += 1;
                    self.class_literal(first);
                    if self.rest.next_if_eq(&'-').is_none() {
                        continue;
                    }
                    let last = self.rest.next().filter(|last| *last != ']').ok_or("a range has no end")?;
                    let last = self.member(last)?;
                    if last < first {
                        return Err(format!("the range {first}-{last} is empty"));
                    }
                    self.out.push('-');
                    self.class_literal(last);
                }
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn member(&mut self, first: char) -> Result<char, String> {
        if first == '\\' { self.rest.next().ok_or_else(|| "a [ has no ]".to_owned()) } else { Ok(first) }
    }

    /// In a class of a regular expression more characters have a meaning than outside.
    fn class_literal(&mut self, literal: char) {
        if literal.is_ascii_punctuation() {
            self.out.push('\\');
        }
        self.out.push(literal);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passing(pattern: &str, names: &[&'static str]) -> Vec<&'static str> {
        let filter = BranchFilter::parse(pattern).expect(pattern);
        names.iter().copied().filter(|name| filter.passes(name)).collect()
    }

    #[test]
    fn check_25_the_vectors_of_the_family_hold() {
        let (main, tag_main) = ("refs/heads/main", "refs/tags/main");
        for all in ["", "*", "**"] {
            assert_eq!(passing(all, &[main, tag_main]), [main, tag_main], "{all:?}");
        }
        assert_eq!(passing("main", &[main, tag_main]), [main]);
        let (foo, bare, tag) = ("refs/heads/feature/foo", "refs/heads/feature", "refs/tags/feature/foo");
        assert_eq!(passing("feature/*", &[foo, bare, tag]), [foo]);
        let release = "refs/tags/release/bar";
        let both = "{refs/heads/feature/*,refs/tags/release/*}";
        assert_eq!(passing(both, &[foo, release, main, "refs/tags/dev"]), [foo, release]);
        let names = ["refs/heads/feature/7791", "refs/heads/master", "refs/heads/fix_weird_bug"];
        assert_eq!(passing("{master,feature*}", &names), &names[..2]);
    }

    #[test]
    fn every_word_of_the_pattern_language() {
        for (pattern, fits, does_not) in [
            ("a*c", "a/b/c", "a/b/d"),
            ("a**c", "ac", "acd"),
            ("x**/c", "x/y/c", "xc"),
            ("?", "ä", "ab"),
            ("[ab]x", "bx", "cx"),
            ("[!ab]x", "cx", "ax"),
            ("[a-c]x", "bx", "-x"),
            ("v[0-9].[0-9]", "v1.2", "v1x2"),
            ("{a,{b,c}d}", "cd", "ad"),
            ("{,x}y", "y", "zy"),
            (r"\*", "*", "x"),
            (r"[\]]", "]", "\\"),
            ("a,b}", "a,b}", "a"),
            ("Main", "Main", "main"),
            ("a.b", "a.b", "axb"),
            ("[^a]", "^", "b"),
        ] {
            let filter = BranchFilter::parse(pattern).expect(pattern);
            assert!(filter.passes(&format!("refs/heads/{fits}")), "{pattern} {fits}");
            assert!(!filter.passes(&format!("refs/heads/{does_not}")), "{pattern} {does_not}");
        }
    }

    #[test]
    fn broken_patterns_are_named() {
        let deep = "{".repeat(50) + &"}".repeat(50);
        let long = "a".repeat(MAX_CHARS + 1);
        for broken in ["[", "[a", "[]", "[!]", "[a-", "[a-]", "[z-a]", "{a", "a\\", deep.as_str(), long.as_str()] {
            let reason = BranchFilter::parse(broken).expect_err(broken);
            assert!(!reason.is_empty());
        }
    }

    proptest! {
        #[test]
        fn no_pattern_breaks_anything(pattern in r"[\[\]{},*?!\\^a-z0-9&~|.\-]{0,40}", name in "[a-z/]{0,20}") {
            if let Ok(filter) = BranchFilter::parse(&pattern) {
                filter.passes(&format!("refs/heads/{name}"));
            }
        }

        #[test]
        fn what_has_no_special_character_fits_itself_alone(name in "[a-zäß_/-]{1,20}", other in "[a-z]{1,20}") {
            let filter = BranchFilter::parse(&name).expect("plain");
            let passes = |name: &str| filter.passes(&["refs/heads/", name].concat());
            prop_assert!(passes(&name));
            prop_assert_eq!(passes(&other), name == other);
        }
    }
}
