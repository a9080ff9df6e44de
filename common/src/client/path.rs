//! Encodes names as path segments and query values. A name always stays one segment.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Escapes a path segment or a query value.
pub(super) fn segment(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, ESCAPED)
}

/// `owner/name` of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryPath {
    /// User or organization.
    pub owner: String,
    /// Name below the owner.
    pub name: String,
}

impl RepositoryPath {
    /// Returns the path of the repository in the Gitea API.
    pub(super) fn api(&self) -> String {
        format!("/api/v1/repos/{}/{}", segment(&self.owner), segment(&self.name))
    }

    /// Returns the path of the repository in farrier's own API.
    pub(super) fn own(&self) -> String {
        format!("/api/farrier/v1/repos/{}/{}", segment(&self.owner), segment(&self.name))
    }
}

impl std::str::FromStr for RepositoryPath {
    type Err = String;

    /// Checks only the format. The daemon validates the names.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let part = |part: &str| !matches!(part, "" | "." | "..") && !part.chars().any(char::is_control);
        match text.split_once('/') {
            Some((owner, name)) if part(owner) && part(name) && !name.contains('/') => {
                Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
            }
            _ => Err("a repository is named OWNER/NAME".to_owned()),
        }
    }
}

impl std::fmt::Display for RepositoryPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_as_one_path_segment() {
        assert_eq!(segment("a-b_c.d~e").to_string(), "a-b_c.d~e");
        assert_eq!(segment("a/b?c#d e%é").to_string(), "a%2Fb%3Fc%23d%20e%25%C3%A9");
    }

    #[test]
    fn a_repository_path_is_owner_slash_name() {
        let path: RepositoryPath = "octo/tool".parse().unwrap();
        assert_eq!((path.owner.as_str(), path.name.as_str()), ("octo", "tool"));
        assert_eq!(path.api(), "/api/v1/repos/octo/tool");
        for bad in ["", "tool", "/tool", "octo/", "a/b/c", "../x", "a/..", "a/b\n"] {
            assert!(bad.parse::<RepositoryPath>().is_err(), "{bad:?}");
        }
    }
}
