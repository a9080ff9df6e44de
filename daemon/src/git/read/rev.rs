//! Validates revisions, ids and paths that clients send.
//!
//! These values are passed to git on standard input, one per line, or after `--end-of-options`. Line breaks are
//! therefore rejected. So are the revision forms that search commits (`^{/text}`, `:/text`) or read the
//! server's reflog (`@{1}`).

/// Longest revision or path, bytes.
const LOOKUP_MAX_BYTES: usize = 4_096;

/// Returns whether `text` is allowed as a revision: a branch, a tag, an id, `main~1`, `refs/…`.
pub fn is_revision(text: &str) -> bool {
    let allowed = |c: char| !c.is_control() && !" :?*[\\\u{7f}".contains(c);
    let plain = !text.is_empty() && text.len() <= LOOKUP_MAX_BYTES && text.chars().all(allowed);
    plain
        && !text.starts_with(['-', '/', '^', '~', '@'])
        && !text.contains("..")
        && !text.contains("@{")
        && !text.contains("^{")
}

/// Returns whether `text` is a full object id: 40 or 64 hexadecimal digits.
pub fn is_full_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether `text` can be a full or abbreviated object id.
pub fn is_id(text: &str) -> bool {
    (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Why a path is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPath {
    /// The path contains `.` or `..`.
    Dots,
    /// The path is too long or contains a control character, so no tree entry can match.
    Unknown,
}

/// Validates the path of a tree entry and removes leading and trailing slashes.
pub fn path(text: &str) -> Result<&str, BadPath> {
    let path = text.trim_matches('/');
    if path.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(BadPath::Dots);
    }
    if path.len() > LOOKUP_MAX_BYTES || path.chars().any(char::is_control) {
        return Err(BadPath::Unknown);
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_that_search_or_read_the_reflog_are_rejected() {
        for good in ["main", "feature/x", "v1.0", "HEAD", "main~1", "main^2", "refs/heads/x", "0123abc", "ünï", "a@b"]
        {
            assert!(is_revision(good), "{good}");
        }
        let searching = ["HEAD^{/x}", ":/x", "@{-1}", "main@{1}", "a..b", "a:b", "@"];
        for bad in searching.into_iter().chain(["", "-x", "a b", "a\nb", "a\0b", "a*", &"x".repeat(5_000)]) {
            assert!(!is_revision(bad), "{bad:?}");
        }
    }

    #[test]
    fn paths_with_dots_or_control_characters_are_rejected() {
        assert_eq!(path("/src/a b/"), Ok("src/a b"));
        assert_eq!(path(""), Ok(""));
        for dots in ["..", "a/../b", ".", "./a", "a/.."] {
            assert_eq!(path(dots), Err(BadPath::Dots), "{dots}");
        }
        assert_eq!(path("a\nb"), Err(BadPath::Unknown));
        assert_eq!(path("..a/b.."), Ok("..a/b.."));
    }
}
