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
    time::{Duration, SystemTime},
};

use super::{Git, GitError, RepositoryLock, copy_file::COPY_LOCK, packed_refs};
use crate::tasks;

/// Lock files outside `refs`, relative to the repository.
pub(super) const LOCK_FILES: [&str; 9] = [
    "HEAD.lock",
    packed_refs::LOCK,
    packed_refs::NEW,
    "config.lock",
    "objects/info/commit-graph.lock",
    "objects/info/commit-graphs/commit-graph-chain.lock",
    "objects/pack/multi-pack-index.lock",
    "shallow.lock",
    COPY_LOCK,
];

/// A lock file of a ref or of the list of refs that is older belongs to no running process: git holds it for moments.
const REF_LOCK_AGE_MAX: Duration = Duration::from_secs(600);

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
    /// All git processes that take lock files run under the lock of the repository or after this, and those of earlier
    /// daemons were ended at the start. A file that is older than the start therefore belongs to no process. Files of a
    /// process that an operator has started since are newer and stay.
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

    /// Removes lock files of refs that an operator's git process left when it was killed. Called if files of refs could
    /// not be written: until they are, nobody can read the repository.
    pub async fn remove_old_ref_locks(&self, repository: u64, _lock: &RepositoryLock) {
        let directory = self.directory(repository);
        match tasks::blocking(move || remove_old_of_refs(&directory, REF_LOCK_AGE_MAX)).await {
            Ok(removed) if removed.is_empty() => {}
            Ok(removed) => tracing::warn!(repository, files = ?removed, "removed old lock files of refs"),
            Err(error) => tracing::warn!(repository, %error, "old lock files of refs were not removed"),
        }
    }

    /// Runs `work`, whose git processes take lock files, under the lock of the repository. If one of them was killed,
    /// the lock files that it left are removed: they would prevent changes of refs until the next start.
    pub(super) async fn with_lock_files<T>(
        &self,
        repository: u64,
        _lock: &RepositoryLock,
        work: impl Future<Output = Result<T, GitError>>,
    ) -> Result<T, GitError> {
        self.with_locks_of(repository, |_| true, work).await
    }

    /// Like [`Git::with_lock_files`], without the lock of the repository, for processes that write only files that git
    /// derives from objects. The caller ensures that no other process writes these.
    pub(super) async fn with_derived_lock_files<T>(
        &self,
        repository: u64,
        work: impl Future<Output = Result<T, GitError>>,
    ) -> Result<T, GitError> {
        self.with_locks_of(repository, |below| below.starts_with("objects"), work).await
    }

    /// Removes those of the new lock files whose paths in the repository are `of_work`.
    async fn with_locks_of<T>(
        &self,
        repository: u64,
        of_work: fn(&Path) -> bool,
        work: impl Future<Output = Result<T, GitError>>,
    ) -> Result<T, GitError> {
        let directory = self.directory(repository);
        let of_others = directory.clone();
        let before = tasks::blocking(move || existing(&of_others)).await;
        let done = work.await;
        let was_killed = matches!(
            done,
            Err(GitError::Timeout { .. }
                | GitError::TooMuch { .. }
                | GitError::Io { .. }
                | GitError::Failed { status: None, .. })
        );
        if !was_killed {
            return done;
        }
        match tasks::blocking(move || remove_new(&directory, &before?, of_work)).await {
            Ok(removed) if removed.is_empty() => {}
            Ok(removed) => tracing::warn!(repository, files = ?removed, "removed lock files of a killed git process"),
            Err(error) => tracing::warn!(repository, %error, "lock files of a killed git process were not removed"),
        }
        done
    }
}

/// Removes the lock files of a repository that are older than `started`, and returns their names.
fn remove_older(directory: &Path, started: SystemTime) -> io::Result<Vec<String>> {
    let is_older = |path: &Path| fs::symlink_metadata(path)?.modified().map(|at| at < started);
    remove_if(directory, |path| is_older(path).unwrap_or(false))
}

/// Removes the lock files of refs that are older than `age_max`, and returns their names.
fn remove_old_of_refs(directory: &Path, age_max: Duration) -> io::Result<Vec<String>> {
    // The clock of the file system.
    let probe = directory.join(COPY_LOCK);
    let now = fs::File::create(&probe)?.metadata()?.modified()?;
    fs::remove_file(&probe)?;
    let is_of_ref = |path: &Path| {
        let below = path.strip_prefix(directory).unwrap_or(path);
        below.starts_with("refs") || below.starts_with(packed_refs::LOCK)
    };
    let is_old = |path: &Path| {
        let at = fs::symlink_metadata(path)?.modified()?;
        Ok::<_, io::Error>(now.duration_since(at).is_ok_and(|age| age > age_max))
    };
    remove_if(directory, |path| is_of_ref(path) && is_old(path).unwrap_or(false))
}

/// Removes the lock files of a repository that are not among `before` and whose paths in it are `of_work`. Returns
/// their names.
fn remove_new(directory: &Path, before: &HashSet<PathBuf>, of_work: fn(&Path) -> bool) -> io::Result<Vec<String>> {
    let is_of_work = |path: &Path| path.strip_prefix(directory).is_ok_and(of_work);
    remove_if(directory, |path| is_of_work(path) && !before.contains(path) && fs::symlink_metadata(path).is_ok())
}

fn remove_if(directory: &Path, is_stale: impl Fn(&Path) -> bool) -> io::Result<Vec<String>> {
    let mut removed = Vec::new();
    for path in paths(directory)?.filter(|path| is_stale(path)) {
        fs::remove_file(&path)?;
        removed.push(path.strip_prefix(directory).unwrap_or(&path).display().to_string());
    }
    Ok(removed)
}

/// Returns the lock files that a repository has.
fn existing(directory: &Path) -> io::Result<HashSet<PathBuf>> {
    Ok(paths(directory)?.filter(|path| fs::symlink_metadata(path).is_ok()).collect())
}

/// Returns the paths of lock files. Those outside `refs` may not exist.
fn paths(directory: &Path) -> io::Result<impl Iterator<Item = PathBuf>> {
    let others = LOCK_FILES.into_iter().map(|file| directory.join(file));
    Ok(others.chain(locks_of_refs(directory)?))
}

/// Returns the lock files below `refs`. Refs cannot have names that end with `.lock`. Links are not followed.
pub(super) fn locks_of_refs(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut pending, mut locks) = (vec![directory.join("refs")], Vec::new());
    while let Some(directory) = pending.pop() {
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
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

    #[test]
    fn only_old_lock_files_of_refs_are_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(dir.path().join("refs/heads")).expect("a directory");
        for name in ["packed-refs.lock", "refs/heads/old.lock", "refs/heads/new.lock", "config.lock"] {
            let file = fs::File::create(dir.path().join(name)).expect("a file");
            if name != "refs/heads/new.lock" {
                let at = file.metadata().expect("a file").modified().expect("a time");
                file.set_modified(at - REF_LOCK_AGE_MAX * 2).expect("a time");
            }
        }
        let mut removed = remove_old_of_refs(dir.path(), REF_LOCK_AGE_MAX).expect("removed");
        removed.sort();
        assert_eq!(removed, ["packed-refs.lock", "refs/heads/old.lock"]);
        assert_eq!(existing(dir.path()).expect("readable").len(), 2);
    }

    #[test]
    fn only_lock_files_of_the_killed_process_are_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(dir.path().join("refs/heads")).expect("a directory");
        let file = |name: &str| fs::write(dir.path().join(name), "").expect("a file");
        file("refs/heads/of-an-operator.lock");
        let before = existing(dir.path()).expect("readable");
        assert_eq!(before.len(), 1);
        file("packed-refs.lock");
        file("refs/heads/a.lock");
        file("refs/heads/a");
        let of_objects = remove_new(dir.path(), &before, |below| below.starts_with("objects")).expect("removed");
        assert_eq!(of_objects, Vec::<String>::new());
        let mut removed = remove_new(dir.path(), &before, |_| true).expect("removed");
        removed.sort();
        assert_eq!(removed, ["packed-refs.lock", "refs/heads/a.lock"]);
        assert_eq!(existing(dir.path()).expect("readable"), before);
    }
}
