//! The branch filter of a hook: a glob for names of branches and tags.
//!
//! `*` and `**` match any characters, slashes too, `?` matches one character, `[ab]`, `[a-z]` and `[!ab]` match one
//! of a set, `{a,b}` matches one of several patterns, and `\` makes the next character literal. A pattern matches a
//! whole name, and case counts. `globset` compiles patterns to regular expressions that match in linear time.
//! It works on bytes: `?` and sets match ASCII characters only. docs/api.md lists where it differs from the API family.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::model::ref_name::{HEADS, TAGS};

/// Longest pattern, characters.
pub const MAX_CHARS: usize = 1_024;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub enum BranchFilter {
    /// Every ref passes.
    All,
    /// Refs that match the pattern pass.
    Pattern(GlobSet),
}

impl BranchFilter {
    /// Compiles `text`. Errors name what is wrong with the pattern.
    pub fn parse(text: &str) -> Result<Self, String> {
        if matches!(text, "" | "*" | "**") {
            return Ok(Self::All);
        }
        if text.chars().count() > MAX_CHARS {
            return Err(format!("the pattern is longer than {MAX_CHARS} characters"));
        }
        let pattern = collapse_stars(text);
        let glob = GlobBuilder::new(&pattern).empty_alternates(true).backslash_escape(true).build();
        // A set, since compiling a single glob panics when the pattern nests too deep.
        let compiled = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build());
        compiled.map(Self::Pattern).map_err(|error| error.kind().to_string())
    }

    /// Returns whether the ref with this full name passes the filter. A branch is matched by its short and its
    /// full name, a tag by its full name; other refs always pass.
    pub fn passes(&self, name: &str) -> bool {
        let Self::Pattern(pattern) = self else { return true };
        match name.strip_prefix(HEADS) {
            Some(branch) => pattern.is_match(branch) || pattern.is_match(name),
            None => !name.starts_with(TAGS) || pattern.is_match(name),
        }
    }
}

/// Replaces each run of `*` by one, so that `**` between slashes means the same as elsewhere: any characters.
fn collapse_stars(pattern: &str) -> String {
    let mut collapsed = String::with_capacity(pattern.len());
    let mut escaped = false;
    for character in pattern.chars() {
        if escaped || character != '*' || !collapsed.ends_with('*') || collapsed.ends_with("\\*") {
            collapsed.push(character);
        }
        escaped = !escaped && character == '\\';
    }
    collapsed
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
    fn examples_of_the_api_family_match_the_same_refs() {
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
    fn each_syntax_element_matches_as_documented() {
        for (pattern, fits, does_not) in [
            ("a*c", "a/b/c", "a/b/d"),
            ("a**c", "ac", "acd"),
            ("x**/c", "x/y/c", "xc"),
            ("?", "a", "ab"),
            ("[ab]x", "bx", "cx"),
            ("[!ab]x", "cx", "ax"),
            ("[a-c]x", "bx", "-x"),
            ("v[0-9].[0-9]", "v1.2", "v1x2"),
            ("{a,{b,c}d}", "cd", "ad"),
            ("{,x}y", "y", "zy"),
            (r"\*", "*", "x"),
            (r"\**", "*x", "x"),
            (r"a\\**b", r"a\x/b", "axb"),
            ("a/**/b", "a/x/y/b", "a/b"),
            ("**/b", "a/b", "bc"),
            ("[]]", "]", "["),
            ("[a-]", "-", "b"),
            ("Main", "Main", "main"),
            ("a.b", "a.b", "axb"),
        ] {
            let filter = BranchFilter::parse(pattern).expect(pattern);
            assert!(filter.passes(&format!("refs/heads/{fits}")), "{pattern} {fits}");
            assert!(!filter.passes(&format!("refs/heads/{does_not}")), "{pattern} {does_not}");
        }
    }

    #[test]
    fn invalid_patterns_are_rejected_with_a_reason() {
        let deep = "{".repeat(400) + &"}".repeat(400);
        let long = "a".repeat(MAX_CHARS + 1);
        let _ = BranchFilter::parse(&deep); // must not overflow the stack
        for broken in ["[", "[a", "[]", "[!]", "[a-", "[z-a]", "{a", "a}", "a\\", long.as_str()] {
            let reason = BranchFilter::parse(broken).expect_err(broken);
            assert!(!reason.is_empty());
        }
    }

    /// The reference takes these patterns literally or not at all.
    #[test]
    fn known_differences_from_the_api_family() {
        assert_eq!(passing("[^a]", &["refs/heads/a", "refs/heads/b", "refs/heads/^"]).len(), 2);
        assert!(BranchFilter::parse("a}").is_err());
        assert!(passing("?", &["refs/heads/ä"]).is_empty(), "`ä` is two bytes");
        assert_eq!(passing("??", &["refs/heads/ä"]).len(), 1);
    }

    proptest! {
        #[test]
        fn parsing_and_matching_never_panic(pattern in r"[\[\]{},*?!\\^a-z0-9&~|.\-]{0,40}", name in "[a-z/]{0,20}") {
            if let Ok(filter) = BranchFilter::parse(&pattern) {
                filter.passes(&format!("refs/heads/{name}"));
            }
        }

        #[test]
        fn a_plain_pattern_matches_only_itself(name in "[a-zäß_/-]{1,20}", other in "[a-z]{1,20}") {
            let filter = BranchFilter::parse(&name).expect("plain");
            let passes = |name: &str| filter.passes(&["refs/heads/", name].concat());
            prop_assert!(passes(&name));
            prop_assert_eq!(passes(&other), name == other);
        }
    }
}
