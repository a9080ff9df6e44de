//! Patterns of rules: globs, and regular expressions for tags.
//!
//! `*` and `?` match no slash in names of branches and files, and any character in names of tags, as in the API family.
//! `**` matches any characters, `[ab]`, `[a-z]` and `[!ab]` one of a set, `{a,b}` one of several patterns, and `\`
//! makes the next character literal. A glob matches a whole name, a regular expression any part of it. All of them are
//! compiled by the crate `regex`, whose time is linear in the length of the name.

use std::{fmt::Write as _, iter::Peekable, str::Chars};

use regex::{Regex, RegexBuilder};

/// Longest pattern, in bytes.
pub const PATTERN_MAX_BYTES: usize = 255;
/// Longest list of patterns of files, in bytes.
const FILES_MAX_BYTES: usize = 4_096;
/// Most patterns of files in a list.
const FILES_MAX: usize = 64;
/// Largest compiled pattern, in bytes. Repeated repetitions such as `(a{99}){99}` need more.
const COMPILED_MAX_BYTES: usize = 256 << 10;
/// Deepest nesting of a pattern.
const NESTING_MAX: u32 = 32;
/// Characters that make a name a glob.
const SPECIAL: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A compiled pattern of names.
#[derive(Clone, Debug)]
pub enum NamePattern {
    /// Every name. For stored patterns that this version cannot compile, so that they protect too much.
    Every,
    /// Exactly this name.
    Name(String),
    /// The names that match.
    Pattern(Regex),
}

impl NamePattern {
    /// Compiles the pattern of a branch rule: a glob.
    pub fn of_branches(text: &str) -> Result<Self, String> {
        check(text)?;
        if is_plain(text) {
            return Ok(Self::Name(text.to_owned()));
        }
        Ok(Self::Pattern(glob(text, Separator::Slash, false)?))
    }

    /// Compiles the pattern of a tag rule: a glob, or a regular expression between slashes.
    pub fn of_tags(text: &str) -> Result<Self, String> {
        check(text)?;
        let expression = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        if let Some(expression) = expression.filter(|expression| !expression.is_empty()) {
            return Ok(Self::Pattern(compile(expression, false)?));
        }
        if is_plain(text) {
            return Ok(Self::Name(text.to_owned()));
        }
        Ok(Self::Pattern(glob(text, Separator::None, false)?))
    }

    /// Returns whether the pattern matches `name`.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Every => true,
            Self::Name(own) => own == name,
            Self::Pattern(pattern) => pattern.is_match(name),
        }
    }
}

/// The protected files of a branch rule, without the unprotected ones. Case does not count.
#[derive(Clone, Debug)]
pub struct FilePatterns {
    protected: Vec<Regex>,
    unprotected: Vec<Regex>,
}

impl PartialEq for FilePatterns {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |one: &[Regex], two: &[Regex]| one.iter().map(Regex::as_str).eq(two.iter().map(Regex::as_str));
        is_same(&self.protected, &other.protected) && is_same(&self.unprotected, &other.unprotected)
    }
}

impl FilePatterns {
    /// Compiles two lists of globs, separated by semicolons. `None`: no file is protected.
    pub fn parse(protected: &str, unprotected: &str) -> Result<Option<Self>, String> {
        let protected = list(protected)?;
        if protected.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { protected, unprotected: list(unprotected)? }))
    }

    /// Checks one list.
    pub fn check(text: &str) -> Result<(), String> {
        list(text).map(drop)
    }

    /// Returns whether the file `path` is protected.
    pub fn protects(&self, path: &str) -> bool {
        let matches = |patterns: &[Regex]| patterns.iter().any(|pattern| pattern.is_match(path));
        matches(&self.protected) && !matches(&self.unprotected)
    }
}

/// Returns whether a pattern is a name without special characters.
pub fn is_plain(text: &str) -> bool {
    !text.contains(SPECIAL)
}

fn check(text: &str) -> Result<(), String> {
    if text.len() > PATTERN_MAX_BYTES {
        return Err(format!("is longer than {PATTERN_MAX_BYTES} bytes"));
    }
    if text.chars().any(char::is_control) {
        return Err("has a control character".to_owned());
    }
    Ok(())
}

fn list(text: &str) -> Result<Vec<Regex>, String> {
    if text.len() > FILES_MAX_BYTES {
        return Err(format!("is longer than {FILES_MAX_BYTES} bytes"));
    }
    let globs: Vec<&str> = text.split(';').map(str::trim).filter(|glob| !glob.is_empty()).collect();
    if globs.len() > FILES_MAX {
        return Err(format!("has more than {FILES_MAX} patterns"));
    }
    let compiled = globs.into_iter().map(|text| {
        check(text)?;
        glob(text, Separator::Slash, true)
    });
    compiled.collect()
}

fn compile(expression: &str, ignore_case: bool) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(expression);
    builder.size_limit(COMPILED_MAX_BYTES).nest_limit(NESTING_MAX).case_insensitive(ignore_case);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "is too complex".to_owned(),
        // The message of a syntax error repeats the pattern in several lines; the last line has the reason.
        error => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("is not a valid pattern: {reason}")
        }
    })
}

/// Which characters `*` and `?` do not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Slash,
    None,
}

impl Separator {
    fn any(self) -> &'static str {
        match self {
            Self::Slash => "[^/]",
            Self::None => ".",
        }
    }
}

fn glob(text: &str, separator: Separator, ignore_case: bool) -> Result<Regex, String> {
    compile(&translated(text, separator)?, ignore_case)
}

/// Translates a glob to a regular expression.
fn translated(glob: &str, separator: Separator) -> Result<String, String> {
    let mut out = String::from(r"\A(?s:");
    let mut depth = 0_u32;
    let mut characters = glob.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => literal(&mut out, characters.next().ok_or("ends with a backslash")?),
            '*' if characters.next_if_eq(&'*').is_some() => {
                while characters.next_if_eq(&'*').is_some() {}
                out.push_str(".*");
            }
            '*' => {
                let _ = write!(out, "{}*", separator.any());
            }
            '?' => out.push_str(separator.any()),
            '[' => set(&mut out, &mut characters)?,
            '{' => {
                depth += 1;
                out.push_str("(?:");
            }
            ',' if depth > 0 => out.push('|'),
            '}' if depth > 0 => {
                depth -= 1;
                out.push(')');
            }
            other => literal(&mut out, other),
        }
    }
    if depth > 0 {
        return Err("has a { without }".to_owned());
    }
    out.push_str(r")\z");
    Ok(out)
}

/// Translates a set after its `[`. A `]` at its beginning is literal.
fn set(out: &mut String, characters: &mut Peekable<Chars<'_>>) -> Result<(), String> {
    out.push('[');
    if characters.next_if(|c| matches!(c, '!' | '^')).is_some() {
        out.push('^');
    }
    let mut is_first = true;
    loop {
        let character = characters.next().ok_or("has a [ without ]")?;
        match character {
            ']' if !is_first => break,
            '\\' => literal(out, characters.next().ok_or("ends with a backslash")?),
            // A range, unless it is at an end of the set.
            '-' if !is_first && characters.peek().is_some_and(|next| *next != ']') => out.push('-'),
            other => literal(out, other),
        }
        is_first = false;
    }
    out.push(']');
    Ok(())
}

fn literal(out: &mut String, character: char) {
    out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
}
