//! Removes lock files that git processes left in a repository when they were killed.
//!
//! Git refuses to update refs or to pack a repository while such a file exists. No acknowledged data is lost with it: a
//! lock file has the next content of a file that was not replaced yet, and a client gets its acknowledgment after the
//! replacement.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use super::{Git, RepositoryLock};
use crate::tasks;

/// Lock files outside `refs`, relative to the repository.
pub(super) const LOCK_FILES: [&str; 8] = [
    "HEAD.lock",
    "packed-refs.lock",
    "packed-refs.new",
    "config.lock",
    "objects/info/commit-graph.lock",
    "objects/info/commit-graphs/commit-graph-chain.lock",
    "objects/pack/multi-pack-index.lock",
    "shallow.lock",
];

/// Which repositories were searched for lock files of earlier processes.
#[derive(Debug, Default)]
pub(super) struct StaleLocks {
    /// When this daemon started, by the clock of the file system. `None`: nothing is removed.
    started: Option<SystemTime>,
    searched: Mutex<HashSet<u64>>,
}

impl StaleLocks {
    /// Lock files that are older than `started` are stale.
    pub(super) fn since(started: SystemTime) -> Self {
        Self { started: Some(started), searched: Mutex::default() }
    }
}

impl Git {
    /// Removes stale lock files when this daemon locks a repository for the first time.
    ///
    /// All git processes that take lock files run under the lock of the repository, and those of earlier daemons were
    /// ended at the start. A file that is older than the start therefore belongs to no process. Files of a process that
    /// an operator has started since are newer and stay.
    pub(super) async fn remove_stale_locks(&self, repository: u64, _lock: &RepositoryLock) {
        let StaleLocks { started: Some(started), searched } = &self.0.stale_locks else { return };
        if !searched.lock().unwrap_or_else(PoisonError::into_inner).insert(repository) {
            return;
        }
        let (directory, started) = (self.directory(repository), *started);
        match tasks::blocking(move || remove_older(&directory, started)).await {
            Ok(removed) if removed.is_empty() => {}
            Ok(removed) => {
                tracing::warn!(repository, files = ?removed, "removed lock files of git processes that were killed");
            }
            Err(error) => tracing::warn!(repository, %error, "stale lock files were not removed"),
        }
    }
}

/// Removes the lock files of a repository that are older than `started`, and returns their names.
fn remove_older(directory: &Path, started: SystemTime) -> io::Result<Vec<String>> {
    let mut removed = Vec::new();
    for path in LOCK_FILES.iter().map(|file| directory.join(file)).chain(locks_of_refs(directory)?) {
        let is_stale = fs::symlink_metadata(&path).and_then(|about| about.modified()).is_ok_and(|at| at < started);
        if is_stale {
            fs::remove_file(&path)?;
            removed.push(path.strip_prefix(directory).unwrap_or(&path).display().to_string());
        }
    }
    Ok(removed)
}

/// Returns the lock files below `refs`. Refs cannot have names that end with `.lock`.
pub(super) fn locks_of_refs(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut pending, mut locks) = (vec![directory.join("refs")], Vec::new());
    while let Some(directory) = pending.pop() {
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "lock") {
                locks.push(path);
            }
        }
    }
    Ok(locks)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_lock_files_older_than_the_start_are_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = |name: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(&path, "").expect("a file");
            path
        };
        for name in LOCK_FILES {
            file(name);
        }
        file("refs/heads/a/b.lock");
        let kept = ["refs/heads/a/c", "packed-refs", "HEAD"].map(file);
        let at = fs::metadata(&kept[0]).expect("a file").modified().expect("a time");
        let before = remove_older(dir.path(), at - Duration::from_secs(60)).expect("readable");
        assert_eq!(before, Vec::<String>::new(), "all files are newer");
        let removed = remove_older(dir.path(), at + Duration::from_secs(60)).expect("removed");
        assert_eq!(removed.len(), LOCK_FILES.len() + 1, "{removed:?}");
        assert!(kept.iter().all(|path| path.exists()));
        assert!(remove_older(&dir.path().join("missing"), at).expect("nothing").is_empty());
    }
}
