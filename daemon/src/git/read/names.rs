//! Names of objects that are read without git: full ids and full names of refs, with an optional type.

use crate::git::{
    objects::{ObjectId, ObjectKind},
    ref_name::is_valid,
};

/// A name of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectName {
    pub(super) base: NameBase,
    /// The requested type: tags, and commits for a tree, are followed.
    pub(super) wanted: Option<ObjectKind>,
}

/// What a name begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NameBase {
    Id(ObjectId),
    Ref(String),
}

impl ObjectName {
    /// Parses a name; `None` if only git understands it, such as `main~1`, `HEAD` or an abbreviated id.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (base, wanted) = match name.strip_suffix('}').and_then(|name| name.rsplit_once("^{")) {
            Some((base, "commit")) => (base, Some(ObjectKind::Commit)),
            Some((base, "tree")) => (base, Some(ObjectKind::Tree)),
            Some(_) => return None,
            None => (name, None),
        };
        let base = match ObjectId::parse(base) {
            Some(id) => NameBase::Id(id),
            None if is_valid(base) => NameBase::Ref(base.to_owned()),
            None => return None,
        };
        Some(Self { base, wanted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_ids_and_names_of_refs_are_parsed() {
        let id = "1f".repeat(20);
        let of_id = NameBase::Id(ObjectId::parse(&id).expect("valid"));
        let of_ref = NameBase::Ref("refs/heads/a/b".into());
        for (name, base, wanted) in [
            (id.clone(), &of_id, None),
            (format!("{id}^{{commit}}"), &of_id, Some(ObjectKind::Commit)),
            ("refs/heads/a/b".into(), &of_ref, None),
            ("refs/heads/a/b^{tree}".into(), &of_ref, Some(ObjectKind::Tree)),
        ] {
            assert_eq!(ObjectName::parse(&name), Some(ObjectName { base: base.clone(), wanted }), "{name}");
        }
        for other in
            ["main", "HEAD", "1f1f", "refs/heads/a~1", "refs/heads/a^{}", "refs/heads/a:b", "refs/heads/..", ""]
        {
            assert_eq!(ObjectName::parse(other), None, "{other}");
        }
    }
}
