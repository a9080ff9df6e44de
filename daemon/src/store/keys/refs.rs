//! Keys of the refs and packs of repositories.

use super::{Builder, first_id};
use crate::store::engine::{Key, Range};

/// The byte after the repository in keys of `g`: its version.
const VERSION: u8 = b'v';
/// The value of a ref.
const REF: u8 = b'r';
/// A change that led to a version.
const CHANGE: u8 = b'l';
/// A pack.
const PACK: u8 = b'p';
/// The files of a small pack.
const INLINE: u8 = b'b';
/// A pack that was dropped.
const DROPPED: u8 = b'x';

/// Returns the prefix of `g/<rid>/`: everything about the refs and packs of a repository.
pub fn repository_refs(repository: u64) -> Key {
    Builder::new("g").id(repository).build()
}

/// `g/<rid>/v`: the version of a repository.
pub fn repository_version(repository: u64) -> Key {
    Builder::new("g").id(repository).raw(&[VERSION]).build()
}

/// `g/<rid>/r/<ref>`: the value of a ref.
pub fn stored_ref(repository: u64, name: &str) -> Key {
    Builder::new("g").id(repository).raw(&[REF]).exact(name).build()
}

/// Returns the prefix of the refs of a repository whose names begin with `prefix`.
pub fn stored_refs(repository: u64, prefix: &str) -> Key {
    Builder::new("g").id(repository).raw(&[REF]).raw(prefix.as_bytes()).build()
}

/// Returns the ref name in a key of [`stored_ref`].
pub fn stored_ref_name(key: &[u8]) -> Option<&str> {
    let name = key.get(stored_refs(0, "").len()..)?.strip_suffix(&[0])?;
    std::str::from_utf8(name).ok()
}

/// `g/<rid>/l/<version>`: the change that led to a version.
pub fn ref_change(repository: u64, version: u64) -> Key {
    Builder::new("g").id(repository).raw(&[CHANGE]).id(version).build()
}

/// Returns the changes that led to versions after `version`.
pub fn ref_changes_after(repository: u64, version: u64) -> Range {
    Range::prefix(Builder::new("g").id(repository).raw(&[CHANGE]).build()).after(&ref_change(repository, version))
}

/// `g/<rid>/p/<name>`: a pack of a repository.
pub fn stored_pack(repository: u64, name: &str) -> Key {
    Builder::new("g").id(repository).raw(&[PACK]).exact(name).build()
}

/// Returns the prefix of the packs of a repository.
pub fn stored_packs(repository: u64) -> Key {
    Builder::new("g").id(repository).raw(&[PACK]).build()
}

/// Returns the name in a key of [`stored_pack`].
pub fn stored_pack_name(key: &[u8]) -> Option<&str> {
    let name = key.get(stored_packs(0).len()..)?.strip_suffix(&[0])?;
    std::str::from_utf8(name).ok()
}

/// `g/<rid>/b/<name>`: the files of a small pack of a repository.
pub fn inline_pack(repository: u64, name: &str) -> Key {
    Builder::new("g").id(repository).raw(&[INLINE]).exact(name).build()
}

/// Returns the prefix of the files of small packs of a repository.
pub fn inline_packs(repository: u64) -> Key {
    Builder::new("g").id(repository).raw(&[INLINE]).build()
}

/// `g/<rid>/x/<name>`: a pack that was dropped from the manifest of a repository.
pub fn dropped_pack(repository: u64, name: &str) -> Key {
    Builder::new("g").id(repository).raw(&[DROPPED]).exact(name).build()
}

/// Returns the prefix of the dropped packs of a repository.
pub fn dropped_packs(repository: u64) -> Key {
    Builder::new("g").id(repository).raw(&[DROPPED]).build()
}

/// Returns the name in a key of [`dropped_pack`].
pub fn dropped_pack_name(key: &[u8]) -> Option<&str> {
    let start = dropped_packs(first_id(key)?);
    let name = key.strip_prefix(start.as_slice())?.strip_suffix(&[0])?;
    std::str::from_utf8(name).ok()
}

/// `gx/<due>/<rid>/<name>`: dropped packs by the time at which their files may be removed.
pub fn dropped_pack_due(due_ms: i64, repository: u64, name: &str) -> Key {
    Builder::new("gx").time(due_ms).id(repository).exact(name).build()
}

/// Returns the prefix of `gx/`.
pub fn dropped_packs_by_time() -> Key {
    Builder::new("gx").build()
}

/// Returns the repository and the name in a key of [`dropped_pack_due`].
pub fn dropped_pack_of_due(key: &[u8]) -> Option<(u64, &str)> {
    let rest = key.get(dropped_pack_due(0, 0, "").len() - 9..)?;
    let (repository, name) = rest.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*repository), std::str::from_utf8(name.strip_suffix(&[0])?).ok()?))
}

/// `gd/<rid>/<object>`: unused objects of a pack in the bucket.
pub fn unused_pack_object(repository: u64, object: &str) -> Key {
    Builder::new("gd").id(repository).exact(object).build()
}

/// Returns the prefix of `gd/`.
pub fn unused_pack_objects() -> Key {
    Builder::new("gd").build()
}

/// Returns the repository and the object in a key of [`unused_pack_object`].
pub fn unused_pack_object_parts(key: &[u8]) -> Option<(u64, &str)> {
    let object = key.get(unused_pack_objects().len() + size_of::<u64>()..)?.strip_suffix(&[0])?;
    Some((first_id(key)?, std::str::from_utf8(object).ok()?))
}

/// `m/packs`: exists if packs are in a bucket.
pub fn packs_in_bucket() -> Key {
    Builder::new("m").raw(b"packs").build()
}

/// `rf/<rid>/<ref>`: the value of a ref in stores up to format level 3.
pub fn ref_tip(repository: u64, name: &str) -> Key {
    Builder::new("rf").id(repository).exact(name).build()
}

/// Returns the prefix of `rf/`: the refs of all repositories in stores up to format level 3.
pub fn ref_tips() -> Key {
    Builder::new("rf").build()
}

/// Returns the ref name in a key of `rf/`.
pub fn ref_tip_name(key: &[u8]) -> Option<&str> {
    let name = key.get(ref_tips().len() + size_of::<u64>()..)?.strip_suffix(&[0])?;
    std::str::from_utf8(name).ok()
}

/// `m/ref-rows`: exists when no value of a ref is left under `rf/`.
pub fn ref_rows() -> Key {
    Builder::new("m").raw(b"ref-rows").build()
}

/// `gp/<rid>/<push>`: a push whose result a release with format level 3 did not record.
pub fn push_mark(repository: u64, push: u64) -> Key {
    Builder::new("gp").id(repository).id(push).build()
}

/// Returns the prefix of `gp/`.
pub fn push_marks() -> Key {
    Builder::new("gp").build()
}

/// `gh/<rid>`: a repository whose `HEAD` must be set to its default branch.
pub fn head_mark(repository: u64) -> Key {
    Builder::new("gh").id(repository).build()
}

/// Returns the prefix of `gh/`.
pub fn head_marks() -> Key {
    Builder::new("gh").build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::KEY_MAX_BYTES;
    use crate::store::keys::leading_time;

    #[test]
    fn refs_sort_by_name_and_the_longest_name_fits() {
        let names = ["a", "a-b", "a.b", "a/b", "ab"];
        let keys = names.map(|name| stored_ref(7, name));
        assert!(keys.is_sorted());
        assert_eq!(keys.each_ref().map(|key| stored_ref_name(key)), names.map(Some));
        assert!(keys[3].starts_with(&stored_refs(7, "a/")) && !keys[1].starts_with(&stored_refs(7, "a/")));
        assert!(stored_ref(u64::MAX, &"x".repeat(400)).len() <= KEY_MAX_BYTES);
        assert_eq!(ref_tip_name(&ref_tip(3, "refs/heads/x")), Some("refs/heads/x"));
    }

    #[test]
    fn a_range_of_changes_begins_after_a_version_and_ends_before_the_refs() {
        let after = ref_changes_after(7, 3);
        assert!(after.contains(&ref_change(7, 4)) && after.contains(&ref_change(7, u64::MAX)));
        for outside in
            [ref_change(7, 3), stored_ref(7, "a"), stored_pack(7, "a"), repository_version(7), ref_change(8, 4)]
        {
            assert!(!after.contains(&outside));
        }
    }

    #[test]
    fn packs_are_found_by_repository_and_name() {
        let key = stored_pack(7, "pack-1");
        assert_eq!((key.starts_with(&stored_packs(7)), stored_pack_name(&key)), (true, Some("pack-1")));
        for outside in [stored_pack(8, "pack-1"), stored_ref(7, "pack-1"), repository_version(7)] {
            assert!(!outside.starts_with(&stored_packs(7)));
        }
        let unused = unused_pack_object(7, "0af1");
        assert!(unused.starts_with(&unused_pack_objects()) && !unused.starts_with(&repository_refs(7)));
        assert_eq!(unused_pack_object_parts(&unused), Some((7, "0af1")));
    }

    #[test]
    fn dropped_packs_have_keys_of_their_own_and_sort_by_time() {
        let key = dropped_pack(7, "pack-1");
        assert_eq!((dropped_pack_name(&key), dropped_pack_name(&stored_pack(7, "pack-1"))), (Some("pack-1"), None));
        let (early, late) = (dropped_pack_due(5, 9, "pack-2"), dropped_pack_due(6, 7, "pack-1"));
        assert!(early < late && early.starts_with(&dropped_packs_by_time()));
        assert_eq!(
            (dropped_pack_of_due(&early), dropped_pack_of_due(&late)),
            (Some((9, "pack-2")), Some((7, "pack-1")))
        );
        assert_eq!(leading_time(&early), Some(5));
    }
}
