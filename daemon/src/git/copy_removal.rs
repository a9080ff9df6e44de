//! Removes the directory of a repository whose packs are all in a bucket, and measures such directories.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{
    Git, GitError, RepositoryLock, copy_file, packs,
    repository::{TRASH, sync_dir},
};
use crate::tasks;

/// What a copy needs on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopySize {
    /// The sizes of all its files.
    pub bytes: u64,
    /// When its packs or refs were last changed.
    pub changed: SystemTime,
}

impl Git {
    /// Measures the directory of a repository. `None`: there is none.
    pub async fn measure_copy(&self, repository: u64) -> Result<Option<CopySize>, GitError> {
        let directory = self.directory(repository);
        tasks::blocking(move || measure(&directory)).await.map_err(GitError::io("measuring the copy of a repository"))
    }

    /// Moves the copy of a repository away, unless it is in use, was used within `idle`, or a backup reads files.
    /// Returns where it is; the caller removes it with [`Git::remove_moved_copy`]. If the daemon ends before, the next
    /// start removes it.
    ///
    /// The caller has read under the lock that every pack of the repository is in the bucket. Objects that are only in
    /// the directory are lost.
    pub async fn move_copy_away(
        &self,
        repository: u64,
        idle: Duration,
        _lock: &RepositoryLock,
    ) -> Result<Option<PathBuf>, GitError> {
        let Some(_removal) = self.begin_removal(repository, idle).filter(|_| !self.removals().is_held()) else {
            return Ok(None);
        };
        let _closed = self.close_packs_at_end(repository);
        let _changed = self.0.generations.raise_at_end(repository);
        let (from, to) = (self.directory(repository), self.staging(TRASH, repository));
        let moved = tasks::blocking(move || match fs::rename(&from, &to) {
            // The new name is durable before a file is removed: a directory with its final name is complete.
            Ok(()) => sync_dir(from.parent().unwrap_or(&from)).map(|()| Some(to)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        });
        moved.await.map_err(GitError::io("removing the copy of a repository"))
    }

    /// Removes a directory that [`Git::move_copy_away`] has moved away.
    pub async fn remove_moved_copy(&self, moved: PathBuf) -> Result<(), GitError> {
        let removed = tasks::blocking(move || fs::remove_dir_all(moved)).await;
        removed.map_err(GitError::io("removing the copy of a repository"))
    }
}

fn measure(directory: &Path) -> io::Result<Option<CopySize>> {
    let Ok(about) = directory.metadata() else { return Ok(None) };
    let mut changed = about.modified()?;
    for path in [packs::directory(directory), directory.join(copy_file::COPY_FILE)] {
        if let Ok(about) = path.metadata() {
            changed = changed.max(about.modified()?);
        }
    }
    Ok(Some(CopySize { bytes: size(directory)?, changed }))
}

/// Returns the size of all files below a directory, which may be removed meanwhile.
fn size(directory: &Path) -> io::Result<u64> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut bytes = 0;
    for entry in entries.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        bytes += if about.is_dir() { size(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::tests::git;

    const ID: u64 = 7;

    #[tokio::test]
    async fn a_copy_is_moved_away_only_if_it_is_not_used_and_no_backup_reads_files() {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        let lock = git.try_lock(ID).expect("free");
        assert!(git.measure_copy(ID).await.expect("read").is_none());
        assert!(git.move_copy_away(ID, Duration::ZERO, &lock).await.expect("nothing").is_none());
        git.init_bare(ID, "main", false).await.expect("created");
        fs::create_dir_all(git.packs(ID)).expect("a directory");
        let before = git.measure_copy(ID).await.expect("read").expect("a directory");
        fs::write(git.packs(ID).join("pack-1.pack"), vec![0; 10_000]).expect("a file");
        let after = git.measure_copy(ID).await.expect("read").expect("a directory");
        assert!(after.bytes == before.bytes + 10_000 && after.changed >= before.changed);
        assert!(git.move_copy_away(ID, Duration::from_secs(60), &lock).await.expect("kept").is_none(), "git ran in it");
        let in_use = git.begin_use(ID);
        assert!(git.move_copy_away(ID, Duration::ZERO, &lock).await.expect("kept").is_none());
        drop(in_use);
        let hold = git.removals().hold();
        assert!(git.move_copy_away(ID, Duration::ZERO, &lock).await.expect("kept").is_none());
        assert!(!git.is_being_removed(ID));
        drop(hold);
        let removal = git.begin_removal(ID, Duration::ZERO).expect("not in use");
        let late = git.begin_use(ID);
        assert!(git.is_being_removed(ID), "the user waits for the lock");
        drop((removal, late));
        let moved = git.move_copy_away(ID, Duration::ZERO, &lock).await.expect("moved").expect("a directory");
        assert!(moved.join("objects/pack/pack-1.pack").exists() && !git.directory(ID).exists());
        git.remove_moved_copy(moved.clone()).await.expect("removed");
        assert!(!moved.exists() && git.measure_copy(ID).await.expect("read").is_none());
    }
}
