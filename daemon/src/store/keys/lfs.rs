//! Keys of LFS objects and locks. An object ID (`oid`) is the raw SHA-256 of the content.

use super::Builder;
use crate::{
    model::secret,
    store::engine::{Key, Range},
};

/// `lo/<oid>`: the bytes of an object.
pub fn lfs_object(oid: &[u8; 32]) -> Key {
    Builder::new("lo").raw(oid).build()
}

/// `li/<id>`: the object with this directory.
pub fn lfs_object_by_id(id: u64) -> Key {
    Builder::new("li").id(id).build()
}

/// `lg/<since>/<oid>`: objects that no repository has, by the time since when.
pub fn lfs_unreferenced(since_ms: i64, oid: &[u8; 32]) -> Key {
    Builder::new("lg").time(since_ms).raw(oid).build()
}

/// Returns the entries of `lg` up to and including `until_ms`.
pub fn lfs_unreferenced_until(until_ms: i64) -> Range {
    super::due("lg", until_ms)
}

/// `lr/<rid>/<oid>`: an object of a repository.
pub fn lfs_entry(repository: u64, oid: &[u8; 32]) -> Key {
    Builder::new("lr").id(repository).raw(oid).build()
}

/// Returns the prefix of `lr/<rid>/`.
pub fn lfs_entries(repository: u64) -> Key {
    Builder::new("lr").id(repository).build()
}

/// `lx/<oid>/<rid>`: a repository that has an object.
pub fn lfs_holder(oid: &[u8; 32], repository: u64) -> Key {
    Builder::new("lx").raw(oid).id(repository).build()
}

/// Returns the prefix of `lx/<oid>/`.
pub fn lfs_holders(oid: &[u8; 32]) -> Key {
    Builder::new("lx").raw(oid).build()
}

/// Returns the oid at the end of a key of `lo`, `lg` or `lr`.
pub fn trailing_oid(key: &[u8]) -> Option<[u8; 32]> {
    key.last_chunk().copied()
}

/// Returns oid and repository of a key of `lx`.
pub fn lfs_holder_parts(key: &[u8]) -> Option<([u8; 32], u64)> {
    let (rest, repository) = key.split_last_chunk::<8>()?;
    Some((trailing_oid(rest)?, u64::from_be_bytes(*repository)))
}

/// `ll/<rid>/<lock>`
pub fn lfs_lock(repository: u64, id: u64) -> Key {
    Builder::new("ll").id(repository).id(id).build()
}

/// Returns the prefix of `ll/<rid>/`.
pub fn lfs_locks(repository: u64) -> Key {
    Builder::new("ll").id(repository).build()
}

/// `lp/<rid>/<hash of path>`: the lock of a path. The hash, because a path may be longer than a key.
pub fn lfs_lock_of_path(repository: u64, path: &str) -> Key {
    Builder::new("lp").id(repository).raw(&secret::sha256(path.as_bytes())).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oid_and_repository_are_read_back() {
        let oid = [7; 32];
        for key in [lfs_object(&oid), lfs_unreferenced(-5, &oid), lfs_entry(3, &oid)] {
            assert_eq!(trailing_oid(&key), Some(oid));
        }
        assert_eq!(lfs_holder_parts(&lfs_holder(&oid, 3)), Some((oid, 3)));
        assert_eq!(lfs_holder_parts(b"lx\0short"), None);
    }
}
