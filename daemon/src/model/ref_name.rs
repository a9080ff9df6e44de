//! Validates ref names by git's rules (git-check-ref-format) and farrier's limits. Does no I/O.

/// Longest ref name, bytes. The store uses names in keys.
pub const NAME_MAX_BYTES: usize = 400;
/// Prefix of branches.
pub const HEADS: &str = "refs/heads/";
/// Prefix of tags.
pub const TAGS: &str = "refs/tags/";
/// Prefix of refs that are hidden from clients.
pub const HIDDEN: &str = "refs/farrier";
/// Prefixes that clients must not write.
const INTERNAL: [&str; 2] = ["refs/farrier/", "refs/pull/"];

/// The kind of a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefKind<'a> {
    /// A branch with its short name.
    Branch(&'a str),
    /// A tag with its short name.
    Tag(&'a str),
    /// Any other ref below `refs/`, for example notes.
    Other,
}

/// Returns the kind of a full ref name.
pub fn kind(name: &str) -> RefKind<'_> {
    if let Some(branch) = name.strip_prefix(HEADS) {
        return RefKind::Branch(branch);
    }
    name.strip_prefix(TAGS).map_or(RefKind::Other, RefKind::Tag)
}

/// Returns whether `name` is a valid full ref name. Names of branches and tags must not start with `-`.
pub fn is_valid(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("refs/") else { return false };
    let short = match kind(name) {
        RefKind::Branch(short) | RefKind::Tag(short) => short,
        RefKind::Other => rest,
    };
    name.len() <= NAME_MAX_BYTES && is_valid_short(short)
}

/// Returns whether `name` is a valid short name of a branch or tag.
pub fn is_valid_short(name: &str) -> bool {
    let part = |part: &str| {
        let lock = part.len() >= 5 && part.ends_with(".lock");
        !part.is_empty() && part.len() <= 250 && !part.starts_with('.') && !lock
    };
    let character = |c: char| !c.is_control() && !" ~^:?*[\\".contains(c);
    name.len() <= NAME_MAX_BYTES
        && name.split('/').all(part)
        && name.chars().all(character)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && !name.starts_with('-')
        && name != "@"
        && name != "HEAD"
}

/// Returns whether only the daemon may write the ref.
pub fn is_internal(name: &str) -> bool {
    INTERNAL.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns whether the ref is hidden from clients.
pub fn is_hidden(name: &str) -> bool {
    name.strip_prefix(HIDDEN).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether `text` is an object id or all zeros.
pub fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

/// Returns whether the id is all zeros, which means "no object".
pub fn is_zero(id: &str) -> bool {
    id.bytes().all(|b| b == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ref_names_follow_gits_rules() {
        for good in ["refs/heads/main", "refs/heads/feature/x", "refs/tags/v1.0", "refs/notes/commits", "refs/heads/ä"]
        {
            assert!(is_valid(good), "{good}");
        }
        let long = format!("refs/heads/{}", "x/".repeat(200) + "y");
        for bad in [
            "HEAD",
            "main",
            "refs/",
            "refs/heads/",
            "refs/heads/a b",
            "refs/heads/a..b",
            "refs/heads/.a",
            "refs/heads/a/",
            "refs/heads//a",
            "refs/heads/a.lock",
            "refs/heads/a.lock/b",
            "refs/heads/a.",
            "refs/heads/@",
            "refs/heads/a@{b",
            "refs/heads/a~1",
            "refs/heads/a^",
            "refs/heads/a:b",
            "refs/heads/a?",
            "refs/heads/a*",
            "refs/heads/[a",
            "refs/heads/a\\b",
            "refs/heads/a\0",
            "refs/heads/a\n",
            "refs/heads/a\u{7f}",
            "refs/heads/-a",
            "refs/tags/-a",
            "refs/../config",
            "refs/heads/../../config",
            "refs/heads/HEAD",
            &long,
        ] {
            assert!(!is_valid(bad), "{bad:?}");
        }
    }

    #[test]
    fn ref_kinds_and_object_ids_are_recognized() {
        assert_eq!(kind("refs/heads/a/b"), RefKind::Branch("a/b"));
        assert_eq!(kind("refs/tags/v1"), RefKind::Tag("v1"));
        assert_eq!(kind("refs/notes/x"), RefKind::Other);
        assert!(is_internal("refs/farrier/x") && is_internal("refs/pull/1/head") && !is_internal("refs/farriers/x"));
        assert!(is_hidden("refs/farrier/x") && !is_hidden("refs/farriers/x") && !is_hidden("refs/pull/1/head"));
        assert!(is_object_id(&"0a".repeat(20)) && is_object_id(&"0a".repeat(32)) && is_zero(&"0".repeat(40)));
        assert!(!is_object_id(&"0A".repeat(20)) && !is_object_id("0a") && !is_object_id(&"0g".repeat(20)));
    }
}
