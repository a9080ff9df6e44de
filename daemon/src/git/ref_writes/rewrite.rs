//! Replaces all files of refs of a repository by one list.

use std::{fs, io, path::Path, sync::Arc};

use super::{
    RefFile, check, locked, not_a_directory,
    packed::{self, ListLock, NewList},
    remove_below, write_loose_internal,
};
use crate::{
    git::{Git, GitError, RepositoryLock, copy_file, packed_refs, ref_name::is_internal, stale_locks::locks_of_refs},
    tasks,
};

/// A list of refs that is being written. If it is dropped before [`RefRewrite::finish`], the refs stay as they are.
#[derive(Debug)]
pub struct RefRewrite {
    git: Git,
    repository: u64,
    list: NewList,
    /// Held until the refs are replaced.
    lock: ListLock,
    /// The last name in the list; empty before the first one.
    last: String,
    /// Locked until the last write has ended, even if the caller was dropped.
    guard: Arc<RepositoryLock>,
}

impl Git {
    /// Begins to replace all files of refs of a repository.
    ///
    /// The caller holds the lock of the repository.
    pub async fn begin_rewrite(&self, repository: u64, guard: Arc<RepositoryLock>) -> Result<RefRewrite, GitError> {
        let git = self.clone();
        let begun = tasks::blocking(move || {
            let (list, lock) = begin(&git.directory(repository))?;
            Ok::<_, io::Error>(RefRewrite { git, repository, list, lock, last: String::new(), guard })
        });
        begun.await.map_err(GitError::io("writing the list of refs"))
    }
}

impl RefRewrite {
    /// Adds refs with values, sorted by name, after those that were added before.
    pub async fn add(mut self, refs: Vec<RefFile>) -> Result<Self, GitError> {
        let added = tasks::blocking(move || {
            refs.iter().try_for_each(|file| self.write(file))?;
            Ok::<_, io::Error>(self)
        });
        added.await.map_err(GitError::io("writing the list of refs"))
    }

    fn write(&mut self, file: &RefFile) -> io::Result<()> {
        check(file)?;
        let Some((id, peeled)) = file.value.as_ref().filter(|_| file.name > self.last) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "refs without values or in the wrong order"));
        };
        self.list.write(packed_refs::lines(&file.name, id, peeled.as_deref()).as_bytes())?;
        self.last.clone_from(&file.name);
        Ok(())
    }

    /// Replaces the files of refs: afterwards the repository has the added refs, and those that only the daemon may
    /// write.
    pub async fn finish(self) -> Result<(), GitError> {
        let finished = tasks::blocking(move || {
            let Self { git, repository, list, lock, last, guard } = self;
            let finished = finish(&git.directory(repository), list, last.is_empty());
            drop(lock);
            // The lock of the repository may be free already, so its generation may have been read since.
            git.0.generations.raise(repository);
            drop(guard);
            finished
        });
        finished.await.map_err(GitError::io("replacing the list of refs"))
    }
}

fn begin(directory: &Path) -> io::Result<(NewList, ListLock)> {
    require_refs(directory)?;
    if let Some(lock) = locks_of_refs(directory)?.first() {
        return Err(locked(&shown(directory, lock)));
    }
    let lock = ListLock::take(directory)?;
    let mut list = NewList::begin(&lock)?;
    list.write(packed_refs::HEADER.as_bytes())?;
    Ok((list, lock))
}

/// Checks that `refs` is a directory, and creates it if it is missing. Never creates a repository.
fn require_refs(directory: &Path) -> io::Result<()> {
    let refs = directory.join("refs");
    match fs::symlink_metadata(&refs) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(not_a_directory("refs")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&refs),
        Err(error) => Err(error),
    }
}

/// The caller holds the lock of the list until the loose files are removed: else git could move their older values to
/// the new list.
fn finish(directory: &Path, list: NewList, is_empty: bool) -> io::Result<()> {
    // From here on, the files of refs may belong to no version.
    copy_file::remove(directory)?;
    // The new list does not have them: it says of each ref to what it leads, which is unknown for them.
    for (name, id) in packed::find(directory, is_internal)? {
        write_loose_internal(directory, &name, &id)?;
    }
    // Before the loose files are removed, because their values hide those in the list.
    if is_empty {
        list.remove()?;
    } else {
        list.replace(false)?;
    }
    remove_below(&directory.join("refs"), "refs")
}

fn shown(directory: &Path, path: &Path) -> String {
    path.strip_prefix(directory).unwrap_or(path).display().to_string()
}
