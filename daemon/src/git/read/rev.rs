//! What a client may say in place of a branch, a commit or a path.
//!
//! Everything here ends up on git's standard input or behind `--end-of-options`, one item a line:
//! so line breaks are refused, and so are the forms of git's own language that search or look
//! into the server's history of a name.

/// Longest revision or path that is looked up, bytes.
const LOOKUP_MAX_BYTES: usize = 4_096;

/// Whether `text` may be looked up as a revision: a branch, a tag, an id, `main~1`, `refs/…`.
pub fn is_revision(text: &str) -> bool {
    let fine = |c: char| !c.is_control() && !" :?*[\\\u{7f}".contains(c);
    let plain = !text.is_empty() && text.len() <= LOOKUP_MAX_BYTES && text.chars().all(fine);
    plain
        && !text.starts_with(['-', '/', '^', '~', '@'])
        && !text.contains("..")
        && !text.contains("@{")
        && !text.contains("^{")
}

/// Whether `text` is an id in full: 40 or 64 hexadecimal digits.
pub fn is_full_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether `text` may be part of an id, in full or shortened.
pub fn is_id(text: &str) -> bool {
    (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Why a path was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPath {
    /// It leads out of the tree, or round in it.
    Dots,
    /// No entry of a tree can be asked for like this.
    Unknown,
}

/// The path of an entry, without slashes at its ends.
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
    fn revisions() {
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
    fn paths() {
        assert_eq!(path("/src/a b/"), Ok("src/a b"));
        assert_eq!(path(""), Ok(""));
        for dots in ["..", "a/../b", ".", "./a", "a/.."] {
            assert_eq!(path(dots), Err(BadPath::Dots), "{dots}");
        }
        assert_eq!(path("a\nb"), Err(BadPath::Unknown));
        assert_eq!(path("..a/b.."), Ok("..a/b.."));
    }
}
