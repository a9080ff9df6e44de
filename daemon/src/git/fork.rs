//! Creates a repository as a copy of another one. Both have the same files of objects: the copy consists of hard links,
//! so its cost does not depend on the size of the objects.
//!
//! Git never writes to a file of objects after it has its final name, and removes only names. So neither repository can
//! change the other, and objects that are added to one of them are not found in the other.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use super::{
    Git, GitError, RepositoryLock,
    import::{NewRef, write_packed_refs},
    repository::{NEW, rename_into_place, sync_dir},
};
use crate::tasks;

/// Starts of the names of files and directories of processes that are writing or were killed.
const UNFINISHED: [&str; 4] = ["tmp_", ".tmp-", "bitmap-ref-tips_", "incoming-"];
/// Ends of the names of files that a process removes when it ends: locks, and marks of packs that must not be repacked.
/// Nothing would remove them from the fork.
const OF_PROCESSES: [&str; 2] = [".lock", ".keep"];
/// Ends of the names of packs and of their indexes.
const PACK: &str = ".pack";
const INDEX: &str = ".idx";
/// The file that makes a repository use the objects of another one.
pub(super) const ALTERNATES: &str = "alternates";

impl Git {
    /// Creates the repository `fork` with the objects of `source` and these refs, which are those of the source. Its
    /// number must never have been used before.
    ///
    /// The lock of the source ensures that no ref moves and that no file of objects is removed meanwhile. Files of
    /// changes that are not complete may be copied; no ref of the fork reaches them.
    pub async fn fork(
        &self,
        (source, fork): (u64, u64),
        default_branch: &str,
        sha256: bool,
        refs: Vec<NewRef>,
        _lock_of_source: &RepositoryLock,
    ) -> Result<(), GitError> {
        let staging = self.staging(NEW, fork);
        let created = self.init_at(fork, &staging, default_branch, sha256).await;
        let (objects, target) = (self.directory(source).join("objects"), self.directory(fork));
        let copied = tasks::blocking(move || {
            let copied = created.and_then(|()| {
                copy(&objects, &staging, &refs)
                    .and_then(|()| rename_into_place(&staging, &target))
                    .map_err(GitError::io("copying a repository"))
            });
            if copied.is_err() {
                // Only this fork uses the directory, and its files are links to those of the source.
                let _ = fs::remove_dir_all(&staging);
            }
            copied
        });
        copied.await
    }
}

/// Fills the new repository at `staging`.
fn copy(objects: &Path, staging: &Path, refs: &[NewRef]) -> io::Result<()> {
    link_all(objects, &staging.join("objects"))?;
    write_packed_refs(staging, refs)
}

/// Returns whether a file or directory belongs to a process that writes, or was killed while it wrote.
pub(super) fn is_unfinished(name: &str) -> bool {
    UNFINISHED.iter().any(|start| name.starts_with(start)) || OF_PROCESSES.iter().any(|end| name.ends_with(end))
}

/// Creates hard links to all files below `from` in `to`, and syncs the directories. Packs without an index, and indexes
/// without a pack, are left out: git ignores them.
fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if is_unfinished(&text) {
            continue;
        }
        if text == ALTERNATES {
            // The daemon never creates this file. Objects of a third repository would be missing in the fork.
            return Err(io::Error::other("the source uses the objects of another repository"));
        }
        let target = to.join(&name);
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            link_all(&entry.path(), &target)?;
        } else if text.ends_with(PACK) {
            // A pack of a change may be moved here meanwhile, after its index. Then only the pack may be listed, and
            // some versions of git cannot repack a repository with a pack that has no index.
            let index = entry.path().with_extension("idx");
            if index.try_exists()? {
                link(&index, &target.with_extension("idx"))?;
                link(&entry.path(), &target)?;
            }
        } else if !text.ends_with(INDEX) {
            link(&entry.path(), &target)?;
        }
    }
    sync_dir(to)
}

/// Creates a hard link, or a copy if the file system has no more links for the file.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => Err(error),
        Err(_) => {
            fs::copy(from, to)?;
            File::open(to)?.sync_all()
        }
        linked => linked,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn complete_files_are_linked_and_others_are_left_out() {
        let dir = tempfile::tempdir().expect("a directory");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        let complete = ["pack/pack-1.pack", "pack/pack-1.idx", "ab/cd"];
        let incomplete = ["pack/pack-1.keep", "pack/tmp_pack_x", "pack/pack-2.pack", "pack/pack-3.idx"];
        for path in complete.iter().chain(&incomplete).chain(&["tmp_objdir-incoming-x/ab/cd"]) {
            let path = from.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, "x").expect("a file");
        }
        fs::create_dir(&to).expect("a directory");
        link_all(&from, &to).expect("links");
        for path in complete {
            let inode = |root: &Path| root.join(path).metadata().expect("a file").ino();
            assert_eq!(inode(&from), inode(&to), "{path}");
        }
        for path in incomplete.into_iter().chain(["tmp_objdir-incoming-x"]) {
            assert!(!to.join(path).exists(), "{path}");
        }
        fs::create_dir(from.join("info")).expect("a directory");
        fs::write(from.join("info/alternates"), "/elsewhere\n").expect("a file");
        let other = dir.path().join("other");
        fs::create_dir(&other).expect("a directory");
        let error = link_all(&from, &other).expect_err("a source that uses another repository");
        assert!(error.to_string().contains("the objects of another repository"), "{error}");
    }
}
