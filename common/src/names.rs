//! Names of users, organisations, repositories and artifacts: what they may look like.
//!
//! Pure checks with a reason in words; whether a name is taken is not decided here.

/// Longest user or organisation name, characters.
pub const OWNER_MAX_CHARS: usize = 40;
/// Longest repository name, characters.
pub const REPOSITORY_MAX_CHARS: usize = 100;
/// Longest artifact name, bytes of UTF-8: leaves room in a store key.
pub const ARTIFACT_MAX_BYTES: usize = 255;

/// Why a name was refused. The text completes "name …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No characters at all.
    #[error("must not be empty")]
    Empty,
    /// More than allowed.
    #[error("is longer than {max} {unit}")]
    Long {
        /// Most that is allowed.
        max: usize,
        /// `characters` or `bytes`.
        unit: &'static str,
    },
    /// Kept for farrier itself or for the API family.
    #[error("is reserved")]
    Reserved,
    /// A character that is not allowed.
    #[error("contains {0:?}, which is not allowed")]
    Character(char),
    /// Letters and digits are needed at this place.
    #[error("must begin and end with a letter or digit and have no two of '-', '_', '.' in a row")]
    Shape,
}

/// Names that routes of farrier or of the API family use, in lower case.
const RESERVED_OWNERS: &[&str] = &[
    ".",
    "..",
    ".well-known",
    "-",
    "admin",
    "api",
    "artifacts",
    "assets",
    "attachments",
    "avatar",
    "avatars",
    "captcha",
    "devtest",
    "explore",
    "favicon.ico",
    "forgejo-actions",
    "ghost",
    "gitea-actions",
    "healthz",
    "issues",
    "login",
    "manifest.json",
    "metrics",
    "milestones",
    "notifications",
    "org",
    "pulls",
    "repo",
    "repo-avatars",
    "robots.txt",
    "sitemap.xml",
    "ssh_info",
    "swagger.v1.json",
    "openapi.json",
    "openapi3.v1.json",
    "twirp",
    "user",
    "v2",
];
const RESERVED_OWNER_ENDINGS: &[&str] = &[".keys", ".gpg", ".rss", ".atom", ".png"];
const RESERVED_REPOSITORIES: &[&str] = &[".", "..", "-"];
const RESERVED_REPOSITORY_ENDINGS: &[&str] = &[".git", ".wiki", ".rss", ".atom"];

/// Checks the name of a user or an organisation that is about to be made.
pub fn check_owner(name: &str) -> Result<(), NameError> {
    check_length(name, OWNER_MAX_CHARS)?;
    check_alphabet(name)?;
    let lower = name.to_ascii_lowercase();
    if RESERVED_OWNERS.contains(&lower.as_str()) || RESERVED_OWNER_ENDINGS.iter().any(|end| lower.ends_with(end)) {
        return Err(NameError::Reserved);
    }
    let bytes = name.as_bytes();
    let edges = bytes[0].is_ascii_alphanumeric() && bytes[bytes.len() - 1].is_ascii_alphanumeric();
    let doubled = bytes.windows(2).any(|pair| !pair[0].is_ascii_alphanumeric() && !pair[1].is_ascii_alphanumeric());
    if edges && !doubled { Ok(()) } else { Err(NameError::Shape) }
}

/// Checks the name of a repository that is about to be made.
pub fn check_repository(name: &str) -> Result<(), NameError> {
    check_length(name, REPOSITORY_MAX_CHARS)?;
    check_alphabet(name)?;
    let lower = name.to_ascii_lowercase();
    let reserved = RESERVED_REPOSITORIES.contains(&lower.as_str())
        || RESERVED_REPOSITORY_ENDINGS.iter().any(|end| lower.ends_with(end))
        || lower.contains("..");
    if reserved { Err(NameError::Reserved) } else { Ok(()) }
}

/// Checks an artifact's name. What the official client refuses is refused here too, and what it
/// lets through but no file system should ever see.
pub fn check_artifact(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > ARTIFACT_MAX_BYTES {
        return Err(NameError::Long { max: ARTIFACT_MAX_BYTES, unit: "bytes" });
    }
    if matches!(name, "." | "..") {
        return Err(NameError::Reserved);
    }
    let refused = |c: &char| c.is_control() || matches!(c, '"' | ':' | '<' | '>' | '|' | '*' | '?' | '\\' | '/');
    match name.chars().find(refused) {
        Some(c) => Err(NameError::Character(c)),
        None => Ok(()),
    }
}

fn check_length(name: &str, max: usize) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.chars().count() > max {
        return Err(NameError::Long { max, unit: "characters" });
    }
    Ok(())
}

fn check_alphabet(name: &str) -> Result<(), NameError> {
    match name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))) {
        Some(c) => Err(NameError::Character(c)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_names_are_checked() {
        for good in ["a", "octo", "a-b", "A_1.z", "x".repeat(40).as_str()] {
            assert_eq!(check_owner(good), Ok(()), "{good}");
        }
        for bad in ["", "-a", "a-", "a--b", "a._b", "a b", "é", "api", "API", "Twirp", "me.keys", &"x".repeat(41)] {
            assert!(check_owner(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn repository_names_are_checked() {
        for good in ["demo", "-x", ".github", "a.b-c_d", &"r".repeat(100)] {
            assert_eq!(check_repository(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", "-", "x.git", "x.GIT", "x.wiki", "a..b", "a/b", "a b", &"r".repeat(101)] {
            assert!(check_repository(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn artifact_names_are_checked() {
        for good in ["small", "CON", "a'b;c%d&e+f", "日本 語.log", "...", &"n".repeat(255)] {
            assert_eq!(check_artifact(good), Ok(()), "{good}");
        }
        let refused = ["", ".", "..", "a/b", "a\\b", "a:b", "a*b", "a?b", "a\"b", "a<b", "a>b", "a|b", "a\rb", "a\nb"];
        for bad in refused.into_iter().chain(["a\0b", "a\u{7f}b", "a\u{85}b", &"n".repeat(256)]) {
            assert!(check_artifact(bad).is_err(), "{bad:?}");
        }
    }
}
