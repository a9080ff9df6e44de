//! Names of refs, by git's rules and a few of farrier's own. Pure.

/// Longest name: the store keeps names in keys.
pub const NAME_MAX_BYTES: usize = 400;
/// Begin of the names of branches.
pub const HEADS: &str = "refs/heads/";
/// Begin of the names of tags.
pub const TAGS: &str = "refs/tags/";
/// Where refs are that no client sees.
pub const HIDDEN: &str = "refs/farrier";
/// Begins of names that no client may write.
const INTERNAL: [&str; 2] = ["refs/farrier/", "refs/pull/"];

/// What a full ref name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefKind<'a> {
    /// A branch, by its short name.
    Branch(&'a str),
    /// A tag, by its short name.
    Tag(&'a str),
    /// Notes and whatever else git keeps under `refs/`.
    Other,
}

/// The kind of a full ref name.
pub fn kind(name: &str) -> RefKind<'_> {
    if let Some(branch) = name.strip_prefix(HEADS) {
        return RefKind::Branch(branch);
    }
    name.strip_prefix(TAGS).map_or(RefKind::Other, RefKind::Tag)
}

/// Whether `name` is a full ref name that git accepts and whose last parts do not begin with `-`.
pub fn is_valid(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("refs/") else { return false };
    let short = match kind(name) {
        RefKind::Branch(short) | RefKind::Tag(short) => short,
        RefKind::Other => rest,
    };
    name.len() <= NAME_MAX_BYTES && is_valid_short(short)
}

/// Whether `name` can be the name of a branch or a tag.
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

/// Whether `name` belongs to the daemon.
pub fn is_internal(name: &str) -> bool {
    INTERNAL.iter().any(|begin| name.starts_with(begin))
}

/// Whether no client sees a ref of this name.
pub fn is_hidden(name: &str) -> bool {
    name.strip_prefix(HIDDEN).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether `text` is the id of an object, or all zeros for none.
pub fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

/// Whether an id says that there is no object.
pub fn is_zero(id: &str) -> bool {
    id.bytes().all(|b| b == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
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
    fn kinds_and_ids() {
        assert_eq!(kind("refs/heads/a/b"), RefKind::Branch("a/b"));
        assert_eq!(kind("refs/tags/v1"), RefKind::Tag("v1"));
        assert_eq!(kind("refs/notes/x"), RefKind::Other);
        assert!(is_internal("refs/farrier/x") && is_internal("refs/pull/1/head") && !is_internal("refs/farriers/x"));
        assert!(is_hidden("refs/farrier/x") && !is_hidden("refs/farriers/x") && !is_hidden("refs/pull/1/head"));
        assert!(is_object_id(&"0a".repeat(20)) && is_object_id(&"0a".repeat(32)) && is_zero(&"0".repeat(40)));
        assert!(!is_object_id(&"0A".repeat(20)) && !is_object_id("0a") && !is_object_id(&"0g".repeat(20)));
    }
}
