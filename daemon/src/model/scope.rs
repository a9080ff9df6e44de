//! Scopes of access tokens: what a token may be used for.
//!
//! There are nine categories, each for reading or writing. Writing includes reading. `all` means writing everything.
//! `public-only` restricts the other scopes to public objects. Names and rules are those of the API family.

use std::fmt;

/// The category of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names of the API family
pub enum Category {
    Activitypub,
    Admin,
    Misc,
    Notification,
    Organization,
    Package,
    Issue,
    Repository,
    User,
}

/// Whether a request changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// GET and HEAD.
    Read,
    /// All other methods.
    Write,
}

const CATEGORIES: [(Category, &str); 9] = [
    (Category::Activitypub, "activitypub"),
    (Category::Admin, "admin"),
    (Category::Issue, "issue"),
    (Category::Misc, "misc"),
    (Category::Notification, "notification"),
    (Category::Organization, "organization"),
    (Category::Package, "package"),
    (Category::Repository, "repository"),
    (Category::User, "user"),
];

/// An unknown scope name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a scope; use all, public-only, or read: or write: followed by one of {list}", list = categories())]
pub struct UnknownScope(pub String);

fn categories() -> String {
    CATEGORIES.map(|(_, name)| name).join(", ")
}

/// A normalized set of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    /// Bit `category`: reading.
    read: u16,
    /// Bit `category`: writing; the reading bit is set too.
    write: u16,
    public_only: bool,
}

const ALL: u16 = (1 << CATEGORIES.len()) - 1;

impl Scopes {
    /// Returns every scope.
    pub const fn all() -> Self {
        Self { read: ALL, write: ALL, public_only: false }
    }

    /// Parses scope names. `sudo` is accepted and ignored, as in the API family.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownScope> {
        let mut scopes = Self::default();
        for word in words.into_iter().map(str::trim) {
            scopes.add(word).ok_or_else(|| UnknownScope(word.to_owned()))?;
        }
        Ok(scopes)
    }

    fn add(&mut self, word: &str) -> Option<()> {
        match word {
            "all" => (self.read, self.write) = (ALL, ALL),
            "public-only" => self.public_only = true,
            "sudo" => {}
            _ => {
                let (level, category) = word.split_once(':')?;
                let bit = CATEGORIES.iter().position(|(_, name)| *name == category)?;
                match level {
                    "read" => {}
                    "write" => self.write |= 1 << bit,
                    _ => return None,
                }
                self.read |= 1 << bit;
            }
        }
        Some(())
    }

    /// Returns whether the set allows nothing.
    pub fn is_empty(self) -> bool {
        self.read == 0
    }

    /// Returns whether the set is limited to public objects.
    pub fn public_only(self) -> bool {
        self.public_only
    }

    /// Returns whether a request of `level` in `category` is allowed.
    pub fn allows(self, category: Category, level: Level) -> bool {
        let bit = 1 << CATEGORIES.iter().position(|(c, _)| *c == category).unwrap_or_default();
        let set = if level == Level::Read { self.read } else { self.write };
        set & bit != 0
    }

    /// Returns whether everything that `other` allows is allowed here. A token can only create such tokens.
    pub fn covers(self, other: Self) -> bool {
        let wider = other.read & !self.read != 0 || other.write & !self.write != 0;
        !wider && (!self.public_only || other.public_only)
    }

    /// Returns the canonical names, in the order of the API family.
    pub fn words(self) -> Vec<String> {
        let mut words = Vec::new();
        if self.public_only {
            words.push("public-only".to_owned());
        }
        if self.write == ALL {
            words.push("all".to_owned());
            return words;
        }
        for (bit, (_, name)) in CATEGORIES.iter().enumerate() {
            if self.write & (1 << bit) != 0 {
                words.push(format!("write:{name}"));
            } else if self.read & (1 << bit) != 0 {
                words.push(format!("read:{name}"));
            }
        }
        words
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = CATEGORIES.iter().find(|(c, _)| c == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Read { "read" } else { "write" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> Scopes {
        Scopes::parse(text.split_whitespace()).expect("known words")
    }

    #[test]
    fn scopes_are_normalized_and_unknown_ones_are_rejected() {
        for (given, canonical) in [
            ("all", "all"),
            ("read:user write:user", "write:user"),
            ("write:repository read:admin", "read:admin write:repository"),
            ("public-only read:misc sudo", "public-only read:misc"),
            (
                "write:activitypub write:admin write:issue write:misc write:notification write:organization \
                 write:package write:repository write:user",
                "all",
            ),
        ] {
            assert_eq!(scopes(given).words().join(" "), canonical);
        }
        for bad in ["read", "write:", "read:x", "admin", "All", "delete:user"] {
            assert_eq!(Scopes::parse([bad]), Err(UnknownScope(bad.into())));
        }
    }

    #[test]
    fn write_scope_includes_only_read_scope_of_the_same_category() {
        let set = scopes("write:repository read:user");
        assert!(set.allows(Category::Repository, Level::Read) && set.allows(Category::Repository, Level::Write));
        assert!(set.allows(Category::User, Level::Read) && !set.allows(Category::User, Level::Write));
        assert!(!set.allows(Category::Admin, Level::Read));
        assert!(scopes("public-only").is_empty());
    }

    #[test]
    fn scopes_cover_only_equal_or_narrower_scopes() {
        assert!(Scopes::all().covers(scopes("public-only write:admin")));
        assert!(scopes("write:user").covers(scopes("read:user")));
        assert!(!scopes("read:user").covers(scopes("write:user")));
        assert!(!scopes("public-only write:user").covers(scopes("read:user")));
    }
}
