//! What became of refs, and what that means. Pure.

use farrier_proto::store::{RefChange, Repository};

use crate::git::ref_name::{self, RefKind};

/// A ref that moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The full name.
    pub(super) name: String,
    /// Where it was; `None`: there was none.
    pub(super) before: Option<String>,
    /// Where it is; `None`: there is none.
    pub(super) after: Option<String>,
}

/// What a client asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestedUpdate {
    /// Where the client found the ref.
    pub(super) old: Option<String>,
    /// Where the client wants it.
    pub(super) new: Option<String>,
}

/// What happened to a ref between the store's word for it and the disk's.
///
/// If a push did what it was asked for and began elsewhere than the store knows, somebody moved
/// the ref before it and was not recorded: that is told first.
pub(super) fn between(
    name: &str,
    known: Option<&str>,
    found: Option<&str>,
    requested: Option<&RequestedUpdate>,
) -> Vec<Change> {
    let step = |before: Option<&str>, after: Option<&str>| Change {
        name: name.to_owned(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    };
    if known == found {
        return Vec::new();
    }
    match requested.filter(|requested| requested.new.as_deref() == found && requested.old.as_deref() != found) {
        Some(requested) if requested.old.as_deref() != known => {
            vec![step(known, requested.old.as_deref()), step(requested.old.as_deref(), found)]
        }
        _ => vec![step(known, found)],
    }
}

impl Change {
    /// The words of the events that tell of it, in their order.
    pub(super) fn events(&self) -> &'static [&'static str] {
        let (before, after) = (self.before.is_some(), self.after.is_some());
        match (ref_name::kind(&self.name), before, after) {
            (RefKind::Branch(_), false, true) => &["create", "push"],
            (RefKind::Branch(_), true, true) => &["push"],
            (RefKind::Branch(_), true, false) => &["delete"],
            // A tag that moved counts as a new one.
            (RefKind::Tag(_), _, true) => &["push", "create"],
            (RefKind::Tag(_), true, false) => &["push", "delete"],
            _ => &[],
        }
    }

    /// Whether commits may have become unreachable. A branch that moved is not counted: only its history
    /// shows whether the push was forced.
    pub(super) fn loses_objects(&self) -> bool {
        let is_tag = matches!(ref_name::kind(&self.name), RefKind::Tag(_));
        self.before.is_some() && (self.after.is_none() || is_tag)
    }

    /// As events have it: zeros where there was or is nothing.
    pub(super) fn told(&self) -> RefChange {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        RefChange { r#ref: self.name.clone(), before: or_zeros(before, after), after: or_zeros(after, before) }
    }
}

/// `id`, or as many zeros as the other id has digits.
fn or_zeros(id: Option<&str>, other: Option<&str>) -> String {
    id.map_or_else(|| "0".repeat(other.map_or(40, str::len)), str::to_owned)
}

/// The branch that becomes the default of a repository that had none: the configured one if it
/// came, else one of the usual names, else the first.
pub(super) fn first_branch<'a>(repository: &Repository, changes: &'a [Change]) -> Option<&'a str> {
    let made = |change: &'a Change| match ref_name::kind(&change.name) {
        RefKind::Branch(branch) if change.after.is_some() => Some(branch),
        _ => None,
    };
    let branches: Vec<&str> = changes.iter().filter(|_| repository.empty).filter_map(made).collect();
    let usual = [repository.default_branch.as_str(), "main", "master"];
    usual.into_iter().find_map(|name| branches.iter().find(|branch| **branch == name)).or(branches.first()).copied()
}

/// What is known of the size of a repository after a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// It was measured: bytes.
    Is(u64),
    /// It has too many files to be measured now and grew by about this many bytes.
    Grew(u64),
}

impl Size {
    /// The size of a repository that had `before` bytes.
    pub(super) fn after(self, before: u64) -> u64 {
        match self {
            Self::Is(bytes) => bytes,
            Self::Grew(bytes) => before.saturating_add(bytes),
        }
    }
}

/// What recorded changes make of the repository's own fields.
pub(super) fn apply(row: &mut Repository, first_branch: Option<&str>, now: i64) {
    if let Some(branch) = first_branch.filter(|_| row.empty) {
        branch.clone_into(&mut row.default_branch);
        row.empty = false;
    }
    row.updated_ms = now;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, before: &str, after: &str) -> Change {
        let id = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Change { name: name.into(), before: id(before), after: id(after) }
    }

    #[test]
    fn what_happened_is_told_once_and_in_order() {
        let requested = |old: &str, new: &str| {
            let Change { before, after, .. } = change("", old, new);
            Some(RequestedUpdate { old: before, new: after })
        };
        for (known, found, requested, expected) in [
            ("a", "a", requested("a", "b"), &[][..]),
            ("a", "b", requested("a", "b"), &[("a", "b")]),
            ("a", "b", None, &[("a", "b")]),
            ("", "b", requested("", "b"), &[("", "b")]),
            ("a", "", requested("a", ""), &[("a", "")]),
            // Somebody's a → b was not recorded before this push.
            ("a", "c", requested("b", "c"), &[("a", "b"), ("b", "c")]),
            ("", "c", requested("b", "c"), &[("", "b"), ("b", "c")]),
            // This push was refused; somebody else's was not.
            ("a", "c", requested("a", "b"), &[("a", "c")]),
            // Already recorded by whoever came first.
            ("c", "c", requested("b", "c"), &[]),
        ] {
            let id = |text: &'static str| Some(text).filter(|text| !text.is_empty());
            let got = between("refs/heads/x", id(known), id(found), requested.as_ref());
            let expected: Vec<_> = expected.iter().map(|(old, new)| change("refs/heads/x", old, new)).collect();
            assert_eq!(got, expected, "{known} {found} {requested:?}");
        }
    }

    #[test]
    fn events() {
        for (name, before, after, expected) in [
            ("refs/heads/x", "", "b", "create push"),
            ("refs/heads/x", "a", "b", "push"),
            ("refs/heads/x", "a", "", "delete"),
            ("refs/tags/x", "", "b", "push create"),
            ("refs/tags/x", "a", "b", "push create"),
            ("refs/tags/x", "a", "", "push delete"),
            ("refs/notes/x", "", "b", ""),
        ] {
            let change = change(name, before, after);
            assert_eq!(change.events().join(" "), expected, "{change:?}");
        }
        assert_eq!(change("refs/heads/x", "abcd", "").told().after, "0000");
    }

    #[test]
    fn the_first_branch() {
        let pushed = |names: &[&str]| -> Vec<Change> { names.iter().map(|name| change(name, "", "a")).collect() };
        let empty = Repository { default_branch: "trunk".into(), empty: true, ..Repository::default() };
        for (names, expected) in [
            (&["refs/heads/a", "refs/heads/trunk", "refs/heads/main"][..], Some("trunk")),
            (&["refs/heads/a", "refs/heads/master", "refs/heads/main"], Some("main")),
            (&["refs/heads/a", "refs/heads/master"], Some("master")),
            (&["refs/tags/v1", "refs/heads/b", "refs/heads/a"], Some("b")),
            (&["refs/tags/v1"], None),
        ] {
            assert_eq!(first_branch(&empty, &pushed(names)), expected, "{names:?}");
        }
        let full = Repository { empty: false, ..empty.clone() };
        assert_eq!(first_branch(&full, &pushed(&["refs/heads/a"])), None);

        let mut row = empty;
        apply(&mut row, None, 9);
        assert!(row.empty, "a tag alone makes no branch");
        apply(&mut row, Some("b"), 9);
        assert_eq!((row.empty, row.default_branch.as_str(), row.size_bytes, row.updated_ms), (false, "b", 0, 9));
    }
}
