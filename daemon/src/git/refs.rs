//! Removes what git processes of an earlier release left when they were killed: lock files and unfinished packs.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Git, GitError, RepositoryLock,
    stale_locks::{LOCK_FILES, locks_of_refs},
};
use crate::tasks;

impl Git {
    /// Returns the quarantine directories of pushes that were not completed.
    pub async fn quarantines(&self, repository: u64) -> Result<Vec<PathBuf>, GitError> {
        let objects = self.directory(repository).join("objects");
        tasks::blocking(move || find_quarantines(&objects)).await.map_err(GitError::io("looking for unfinished pushes"))
    }

    /// Removes the lock files that earlier processes left, and the directories `quarantines`, which
    /// [`Git::quarantines`] listed.
    ///
    /// The caller holds the repository's lock, so nothing else updates refs or packs them.
    pub async fn clean(
        &self,
        repository: u64,
        quarantines: Vec<PathBuf>,
        _lock: &RepositoryLock,
    ) -> Result<(), GitError> {
        let directory = self.directory(repository);
        let remove = move || remove_leftovers(&directory, &quarantines);
        tasks::blocking(remove).await.map_err(GitError::io("removing leftovers"))
    }
}

fn find_quarantines(objects: &Path) -> io::Result<Vec<PathBuf>> {
    let all = match entries(objects) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        all => all?,
    };
    let is_quarantine =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tmp_objdir-"));
    Ok(all.into_iter().filter(is_quarantine).collect())
}

fn remove_leftovers(directory: &Path, quarantines: &[PathBuf]) -> io::Result<()> {
    for lock in LOCK_FILES.iter().map(|file| directory.join(file)).chain(locks_of_refs(directory)?) {
        ignore_missing(fs::remove_file(lock))?;
    }
    for quarantine in quarantines {
        ignore_missing(fs::remove_dir_all(quarantine))?;
    }
    Ok(())
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

/// Turns the error that a file or directory does not exist into success.
pub(super) fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_and_objects_of_an_unfinished_push_are_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = |name: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, "").expect("a file");
        };
        for name in ["refs/heads/a/b.lock", "objects/tmp_objdir-incoming-x/pack/tmp", "HEAD.lock", "refs/heads/main"] {
            file(name);
        }
        let found = find_quarantines(&dir.path().join("objects")).expect("readable");
        remove_leftovers(dir.path(), &found).expect("removed");
        assert!(!dir.path().join("refs/heads/a/b.lock").exists() && !dir.path().join("HEAD.lock").exists());
        assert!(entries(&dir.path().join("objects")).expect("a directory").is_empty());
        assert!(dir.path().join("refs/heads/main").exists());
    }

    #[test]
    fn objects_of_a_push_that_began_after_the_start_are_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let objects = dir.path().join("objects");
        assert_eq!(find_quarantines(&objects).expect("no directory"), [] as [PathBuf; 0]);
        fs::create_dir_all(objects.join("tmp_objdir-incoming-old/pack")).expect("a directory");
        fs::create_dir_all(objects.join("pack")).expect("a directory");
        fs::create_dir_all(dir.path().join("refs")).expect("a directory");
        let at_start = find_quarantines(&objects).expect("readable");
        let live = objects.join("tmp_objdir-incoming-live");
        fs::create_dir_all(live.join("pack")).expect("a directory");
        remove_leftovers(dir.path(), &at_start).expect("removed");
        assert_eq!((at_start.len(), find_quarantines(&objects).expect("readable")), (1, vec![live]));
        assert!(objects.join("pack").exists());
    }
}
