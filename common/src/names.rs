//! Validates names of users, organizations, repositories and artifacts. Whether a name is in use is checked
//! elsewhere.

/// Longest user or organization name, characters.
pub const OWNER_MAX_CHARS: usize = 40;
/// Longest repository name, characters.
pub const REPOSITORY_MAX_CHARS: usize = 100;
/// Longest artifact name, bytes. Leaves room in a store key.
pub const ARTIFACT_MAX_BYTES: usize = 255;

/// Why a name is invalid. The message completes "name …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is empty.
    #[error("must not be empty")]
    Empty,
    /// The name is too long.
    #[error("is longer than {max} {unit}")]
    Long {
        /// The limit.
        max: usize,
        /// `characters` or `bytes`.
        unit: &'static str,
    },
    /// The name is reserved for farrier or the Gitea API.
    #[error("is reserved")]
    Reserved,
    /// The name contains a character that is not allowed.
    #[error("contains {0:?}, which is not allowed")]
    Character(char),
    /// The first or last character, or two characters in a row, are not letters or digits.
    #[error("must begin and end with a letter or digit and have no two of '-', '_', '.' in a row")]
    Shape,
}

/// Names used by routes of farrier or the Gitea API, in lower case.
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

/// Validates the name of a new user or organization.
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

/// Validates the name of a new repository.
pub fn check_repository(name: &str) -> Result<(), NameError> {
    check_length(name, REPOSITORY_MAX_CHARS)?;
    check_alphabet(name)?;
    let lower = name.to_ascii_lowercase();
    let reserved = RESERVED_REPOSITORIES.contains(&lower.as_str())
        || RESERVED_REPOSITORY_ENDINGS.iter().any(|end| lower.ends_with(end))
        || lower.contains("..");
    if reserved { Err(NameError::Reserved) } else { Ok(()) }
}

/// Validates an artifact name. Rejects everything that the official client rejects, and names that are unsafe
/// on file systems.
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
    fn owner_names_are_validated() {
        for good in ["a", "octo", "a-b", "A_1.z", "x".repeat(40).as_str()] {
            assert_eq!(check_owner(good), Ok(()), "{good}");
        }
        for bad in ["", "-a", "a-", "a--b", "a._b", "a b", "é", "api", "API", "Twirp", "me.keys", &"x".repeat(41)] {
            assert!(check_owner(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn repository_names_are_validated() {
        for good in ["demo", "-x", ".github", "a.b-c_d", &"r".repeat(100)] {
            assert_eq!(check_repository(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", "-", "x.git", "x.GIT", "x.wiki", "a..b", "a/b", "a b", &"r".repeat(101)] {
            assert!(check_repository(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn artifact_names_are_validated() {
        for good in ["small", "CON", "a'b;c%d&e+f", "日本 語.log", "...", &"n".repeat(255)] {
            assert_eq!(check_artifact(good), Ok(()), "{good}");
        }
        let refused = ["", ".", "..", "a/b", "a\\b", "a:b", "a*b", "a?b", "a\"b", "a<b", "a>b", "a|b", "a\rb", "a\nb"];
        for bad in refused.into_iter().chain(["a\0b", "a\u{7f}b", "a\u{85}b", &"n".repeat(256)]) {
            assert!(check_artifact(bad).is_err(), "{bad:?}");
        }
    }
}
