//! Validates the fields of a repository. Errors begin with the API family's names of the rules.

use farrier_common::names::{self, NameError};

use crate::{
    git::{read::rev, ref_name::is_valid_short},
    service::Error,
};

/// The default branch if the request names none.
pub(in crate::service) const DEFAULT_BRANCH: &str = "main";
const DESCRIPTION_MAX_CHARS: usize = 2_048;
const WEBSITE_MAX_CHARS: usize = 1_024;
const BRANCH_MAX_CHARS: usize = 100;

/// Checks a repository name. `field` is its name in the input.
pub(in crate::service) fn name(field: &'static str, name: &str) -> Result<(), Error> {
    names::check_repository(name).map_err(|error| {
        let rule = match error {
            NameError::Empty => "Required: ",
            NameError::Long { .. } => "MaxSize: ",
            NameError::Character(_) | NameError::Shape => "AlphaDashDot: ",
            NameError::Reserved => "",
        };
        Error::invalid(field, format!("{rule}name {error}"))
    })
}

/// Checks a description.
pub(in crate::service) fn description(text: &str) -> Result<(), Error> {
    at_most("description", text, DESCRIPTION_MAX_CHARS)
}

/// Checks the URL of a website.
pub(in crate::service) fn website(text: &str) -> Result<(), Error> {
    at_most("website", text, WEBSITE_MAX_CHARS)?;
    let web = url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if text.is_empty() || web { Ok(()) } else { Err(Error::invalid("website", "Url: is not an http or https address")) }
}

fn at_most(field: &'static str, text: &str, max: usize) -> Result<(), Error> {
    if text.chars().count() <= max {
        return Ok(());
    }
    Err(Error::invalid(field, format!("MaxSize: is longer than {max} characters")))
}

/// Checks the name of a branch or tag. `field` is its name in the input.
pub(in crate::service) fn branch(field: &'static str, name: &str) -> Result<(), Error> {
    if name.is_empty() {
        return Err(Error::invalid(field, "Required"));
    }
    // A branch whose name looks like an id would hide the commit with that id.
    let is_valid = is_valid_short(name) && name.chars().count() <= BRANCH_MAX_CHARS && !rev::is_full_id(name);
    if is_valid { Ok(()) } else { Err(Error::invalid(field, "GitRefName: is not a valid name of a branch or tag")) }
}

/// Returns whether the repository uses SHA-256 object ids.
pub(in crate::service) fn sha256(object_format: &str) -> Result<bool, Error> {
    match object_format {
        "" | "sha1" => Ok(false),
        "sha256" => Ok(true),
        _ => Err(Error::invalid("object_format_name", "is neither sha1 nor sha256")),
    }
}

/// Checks the name of a label set. There are no issues, but an unknown name is still an error.
pub(in crate::service) fn issue_labels(name: &str) -> Result<(), Error> {
    match name {
        "" | "Default" | "Advanced" => Ok(()),
        _ => Err(Error::invalid("issue_labels", "is neither Default nor Advanced")),
    }
}

/// Returns the trust model to store. Unknown names give the default, as in the API family.
pub(in crate::service) fn trust_model(word: &str) -> &'static str {
    match word {
        "collaborator" => "collaborator",
        "committer" => "committer",
        "collaboratorcommitter" => "collaboratorcommitter",
        _ => "default",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_are_validated() {
        for good in ["main", "feature/x", "v1.0", "a-b"] {
            assert!(branch("x", good).is_ok(), "{good}");
        }
        let (id, long) = ("a1".repeat(20), "x".repeat(101));
        for bad in [
            "", &id, &long, "HEAD", "-x", "a..b", "a b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.", "@", "a@{b",
            "a~1", "a\0",
        ] {
            assert!(branch("x", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn websites_are_absolute_urls() {
        for good in ["", "http://a", "https://a.example/b?c"] {
            assert!(website(good).is_ok(), "{good}");
        }
        for bad in ["a", "ftp://a", "javascript:1", &format!("http://{}", "a".repeat(1_024))] {
            assert!(website(bad).is_err(), "{bad}");
        }
    }
}
