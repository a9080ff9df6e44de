//! Changes of refs, and what follows from them: events, and the repository's own fields. All functions are pure.

use farrier_proto::store::{RefChange, RefStep, Repository};

use crate::git::ref_name::{self, RefKind, TAGS};

/// A change of a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::service) struct Change {
    /// Full name of the ref.
    pub(in crate::service) name: String,
    /// The previous object id. `None`: the ref did not exist.
    pub(in crate::service) before: Option<String>,
    /// The new object id. `None`: the ref was deleted.
    pub(in crate::service) after: Option<String>,
}

/// Returns the change of a ref between the store (`known`) and the disk (`found`).
pub(super) fn find_change(name: &str, known: Option<&str>, found: Option<&str>) -> Option<Change> {
    let change = || Change { name: name.to_owned(), before: known.map(str::to_owned), after: found.map(str::to_owned) };
    (known != found).then(change)
}

impl Change {
    /// Returns whether the change has events, and counts as a change of the repository: only branches and tags.
    pub(super) fn is_recorded(&self) -> bool {
        ref_name::kind(&self.name) != RefKind::Other
    }

    /// Returns the change as it is stored. A missing id is empty.
    pub(super) fn step(&self) -> RefStep {
        let bytes = |id: &Option<String>| id.as_ref().and_then(|id| hex::decode(id).ok()).unwrap_or_default();
        RefStep { name: self.name.clone(), before: bytes(&self.before), after: bytes(&self.after) }
    }

    /// Returns the names of the events for this change, in order.
    pub(super) fn events(&self) -> &'static [&'static str] {
        let (before, after) = (self.before.is_some(), self.after.is_some());
        match (ref_name::kind(&self.name), before, after) {
            (RefKind::Branch(_), false, true) => &["create", "push"],
            (RefKind::Branch(_), true, true) => &["push"],
            (RefKind::Branch(_), true, false) => &["delete"],
            // Moving a tag counts as creating it.
            (RefKind::Tag(_), _, true) => &["push", "create"],
            (RefKind::Tag(_), true, false) => &["push", "delete"],
            _ => &[],
        }
    }

    /// Returns whether commits may have become unreachable. Moved branches do not count: only their history
    /// shows whether the push was forced.
    pub(super) fn loses_objects(&self) -> bool {
        let is_tag = matches!(ref_name::kind(&self.name), RefKind::Tag(_));
        self.before.is_some() && (self.after.is_none() || is_tag)
    }

    /// Returns the change for events. A missing id is replaced by zeros.
    pub(super) fn ref_change(&self) -> RefChange {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        RefChange { r#ref: self.name.clone(), before: or_zeros(before, after), after: or_zeros(after, before) }
    }
}

/// Returns `id`, or as many zeros as the other id has digits.
fn or_zeros(id: Option<&str>, other: Option<&str>) -> String {
    id.map_or_else(|| "0".repeat(other.map_or(40, str::len)), str::to_owned)
}

/// Returns the branch that becomes the default of an empty repository: the configured one if it was pushed, else a
/// usual name, else the first one.
pub(super) fn first_branch<'a>(repository: &Repository, changes: &'a [Change]) -> Option<&'a str> {
    let created = |change: &'a Change| match ref_name::kind(&change.name) {
        RefKind::Branch(branch) if change.after.is_some() => Some(branch),
        _ => None,
    };
    let branches: Vec<&str> = changes.iter().filter(|_| repository.empty).filter_map(created).collect();
    let usual = [repository.default_branch.as_str(), "main", "master"];
    usual.into_iter().find_map(|name| branches.iter().find(|branch| **branch == name)).or(branches.first()).copied()
}

/// Returns the number of branches of a repository that had `before` branches.
pub(super) fn branches_after(before: u64, changes: &[Change]) -> u64 {
    let branches = changes.iter().filter(|change| matches!(ref_name::kind(&change.name), RefKind::Branch(_)));
    branches.fold(before, |number, change| match (&change.before, &change.after) {
        (None, Some(_)) => number.saturating_add(1),
        (Some(_), None) => number.saturating_sub(1),
        _ => number,
    })
}

/// Returns the names of the deleted tags.
pub(super) fn deleted_tags(changes: &[Change]) -> Vec<&str> {
    let deleted = changes.iter().filter(|change| change.after.is_none());
    deleted.filter_map(|change| change.name.strip_prefix(TAGS)).collect()
}

/// The size of a repository after a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// The measured size in bytes.
    Measured(u64),
    /// The estimated growth in bytes, if the repository has too many files to be measured now.
    GrewBy(u64),
}

impl Size {
    /// Returns the new size of a repository that had `before` bytes.
    pub(super) fn after(self, before: u64) -> u64 {
        match self {
            Self::Measured(bytes) => bytes,
            Self::GrewBy(bytes) => before.saturating_add(bytes),
        }
    }
}

/// Applies recorded changes to the repository's own fields.
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
    fn only_refs_that_differ_have_changed() {
        for (known, found, expected) in [
            ("a", "a", None),
            ("", "", None),
            ("a", "b", Some(("a", "b"))),
            ("", "b", Some(("", "b"))),
            ("a", "", Some(("a", ""))),
        ] {
            let id = |text: &'static str| Some(text).filter(|text| !text.is_empty());
            let got = find_change("refs/heads/x", id(known), id(found));
            assert_eq!(got, expected.map(|(old, new)| change("refs/heads/x", old, new)), "{known} {found}");
        }
    }

    #[test]
    fn a_stored_step_has_the_bytes_of_the_ids() {
        let step = change("refs/notes/x", "", "0aff").step();
        assert_eq!((step.name.as_str(), step.before, step.after), ("refs/notes/x", Vec::new(), vec![0x0a, 0xff]));
        assert!(!change("refs/notes/x", "", "a").is_recorded() && change("refs/tags/x", "", "a").is_recorded());
    }

    #[test]
    fn each_change_has_its_events() {
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
        assert_eq!(change("refs/heads/x", "abcd", "").ref_change().after, "0000");
    }

    #[test]
    fn created_and_deleted_branches_are_counted() {
        let changes = [
            change("refs/heads/new", "", "a"),
            change("refs/heads/other", "", "a"),
            change("refs/heads/moved", "a", "b"),
            change("refs/heads/gone", "a", ""),
            change("refs/tags/new", "", "a"),
        ];
        assert_eq!(branches_after(5, &changes), 6);
        assert_eq!(branches_after(0, &changes[3..]), 0);
    }

    #[test]
    fn the_first_branch_becomes_the_default() {
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
        assert!(row.empty, "a repository with only a tag is still empty");
        apply(&mut row, Some("b"), 9);
        assert_eq!((row.empty, row.default_branch.as_str(), row.size_bytes, row.updated_ms), (false, "b", 0, 9));
    }
}
