//! Writes files of refs without a process, in the form in which git writes them.
//!
//! The rows of the store decide which refs a repository has; the files are written from them. So the files are not
//! synced, and a call that was interrupted at any place is repeated with the current rows. No file is written in place.
//! Each one is replaced by a rename while its lock file exists, as git does it. A lock file that exists already belongs
//! to a git process: it stays, and the call fails.
//!
//! Acknowledged data that this module could lose: the value of a ref whose file it removes. The caller passes the rows,
//! so a ref that is removed has none. Refs that only the daemon may write ([`is_internal`]) have no rows and are kept.
//! Symbolic links are not followed. Objects are not touched.

mod packed;
mod rewrite;

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    sync::Arc,
};

use self::packed::ListLock;
pub use self::rewrite::RefRewrite;
use super::{
    Git, GitError, RepositoryLock,
    ref_name::{is_internal, is_object_id},
    refs::ignore_missing,
    repository::sync_dir,
};
use crate::tasks;

/// The value that the file of a ref gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefFile {
    /// The full name.
    pub name: String,
    /// The object id and, if it is that of a tag object, the id of the object to which it leads. `None`: the ref is
    /// removed.
    pub value: Option<(String, Option<String>)>,
}

impl Git {
    /// Gives the refs their values. Refs are removed before others are written, so that a ref can replace refs below
    /// its name, and the reverse.
    ///
    /// The caller holds the lock of the repository. If the returned future is dropped, writing continues, and `guard`
    /// stays locked until it ends.
    pub async fn write_refs(
        &self,
        repository: u64,
        refs: Vec<RefFile>,
        guard: Arc<RepositoryLock>,
    ) -> Result<(), GitError> {
        let (git, directory) = (self.clone(), self.directory(repository));
        let written = tasks::blocking(move || {
            let _guard = guard;
            let written = write(&directory, &refs);
            // The lock of the repository may be free already, so its generation may have been read since.
            git.0.generations.raise(repository);
            written
        });
        written.await.map_err(GitError::io("writing refs"))
    }
}

fn write(directory: &Path, refs: &[RefFile]) -> io::Result<()> {
    refs.iter().try_for_each(check)?;
    let removed: HashSet<&[u8]> =
        refs.iter().filter(|file| file.value.is_none()).map(|file| file.name.as_bytes()).collect();
    if !removed.is_empty() {
        // Held until the loose files are removed: else git could move them to the list in between.
        let lock = ListLock::take(directory)?;
        // Before the loose files, which hide older values in the list.
        packed::remove(&lock, &removed)?;
        for file in refs.iter().filter(|file| file.value.is_none()) {
            remove_loose(directory, &file.name)?;
        }
    }
    for file in refs {
        if let Some((id, _)) = &file.value {
            write_loose(directory, &file.name, id)?;
        }
    }
    Ok(())
}

/// Checks that a name stays below `refs` and a value is an object id. All rows have such names and values.
fn check(file: &RefFile) -> io::Result<()> {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_name = file.name.strip_prefix("refs/").is_some_and(|rest| rest.split('/').all(is_part))
        && !is_internal(&file.name)
        && !file.name.chars().any(|c| c.is_control() || c == ' ');
    let is_value =
        file.value.as_ref().is_none_or(|(id, peeled)| is_object_id(id) && peeled.as_deref().is_none_or(is_object_id));
    if is_name && is_value {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("the ref {:?} cannot be written", file.name)))
}

/// Writes the file of one ref. Files of refs without rows that are in the way are removed.
fn write_loose(directory: &Path, name: &str, id: &str) -> io::Result<()> {
    create_parents(directory, name)?;
    let (path, lock) = (directory.join(name), directory.join(format!("{name}.lock")));
    let mut file = File::create_new(&lock).map_err(|error| at(&error, name))?;
    let written = file.write_all(format!("{id}\n").as_bytes()).and_then(|()| {
        clear_directory(&path, name)?;
        fs::rename(&lock, &path)
    });
    if written.is_err() {
        // Created by this call, so it belongs to no other process.
        let _ = fs::remove_file(&lock);
    }
    written
}

/// Writes the file of a ref that only the daemon may write, with its value in the list. A file that exists has a newer
/// value and stays.
fn write_loose_internal(directory: &Path, name: &str, id: &str) -> io::Result<()> {
    let is_safe = name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    if !is_safe || fs::symlink_metadata(directory.join(name)).is_ok() {
        return Ok(());
    }
    write_loose(directory, name, id)?;
    // Unlike other refs, it has no row, and is about to be removed from the list.
    let path = directory.join(name);
    File::open(&path)?.sync_all()?;
    let mut parents = path.ancestors().skip(1).take_while(|parent| parent.starts_with(directory.join("refs")));
    parents.try_for_each(sync_dir)
}

/// Creates the directories of a ref. A file in the place of a directory is a ref that has no row, and is removed.
fn create_parents(directory: &Path, name: &str) -> io::Result<()> {
    for (end, _) in name.match_indices('/') {
        let (name, path) = (&name[..end], directory.join(&name[..end]));
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => continue,
            Ok(found) if found.is_symlink() || name == "refs" => return Err(not_a_directory(name)),
            Ok(_) => fs::remove_file(&path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::create_dir(&path)?;
    }
    Ok(())
}

/// Removes a directory in the place of the ref `name`, with the refs below it, which have no rows.
fn clear_directory(path: &Path, name: &str) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            if is_internal(&format!("{name}/")) {
                return Err(io::Error::other(format!("{name} is a directory of refs that only the daemon writes")));
            }
            remove_below(path, name)?;
            fs::remove_dir(path)
        }
        Ok(_) => Ok(()),
        Err(error) => ignore_missing(Err(error)),
    }
}

/// Removes the file of a ref, and the directories that become empty.
fn remove_loose(directory: &Path, name: &str) -> io::Result<()> {
    for (end, _) in name.match_indices('/') {
        match fs::symlink_metadata(directory.join(&name[..end])) {
            Ok(found) if found.is_dir() => {}
            Ok(found) if found.is_symlink() => return Err(not_a_directory(&name[..end])),
            // A ref that is a directory of this name.
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return remove_empty_parents(directory, name),
            Err(error) => return Err(error),
        }
    }
    let (path, lock) = (directory.join(name), directory.join(format!("{name}.lock")));
    match fs::symlink_metadata(&path) {
        // Other refs are below it, or it is empty.
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            drop(File::create_new(&lock).map_err(|error| at(&error, name))?);
            let removed = fs::remove_file(&path);
            let unlocked = fs::remove_file(&lock);
            removed.and(unlocked)?;
        }
        Err(error) => ignore_missing(Err(error))?,
    }
    remove_empty_parents(directory, name)
}

/// Removes the directories of a ref that are empty. Git keeps `refs` and the directories in it.
fn remove_empty_parents(directory: &Path, name: &str) -> io::Result<()> {
    for (end, _) in name.match_indices('/').skip(2).collect::<Vec<_>>().into_iter().rev() {
        match fs::remove_dir(directory.join(&name[..end])) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => break,
            removed => ignore_missing(removed)?,
        }
    }
    Ok(())
}

/// Removes all files of refs and empty directories below the directory `name`, except refs that only the daemon may
/// write. Links are removed, not followed. Fails at a lock file.
fn remove_below(path: &Path, name: &str) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let (path, name) = (entry.path(), format!("{name}/{}", entry.file_name().to_string_lossy()));
        let is_directory = entry.file_type()?.is_dir();
        if is_internal(&name) || (is_directory && is_internal(&format!("{name}/"))) {
            continue;
        }
        if is_directory {
            remove_below(&path, &name)?;
            if name.matches('/').count() > 1 {
                match fs::remove_dir(&path) {
                    Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                    removed => ignore_missing(removed)?,
                }
            }
        } else if name.ends_with(".lock") {
            return Err(locked(&name));
        } else {
            ignore_missing(fs::remove_file(path))?;
        }
    }
    Ok(())
}

fn not_a_directory(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotADirectory, format!("{name} is not a directory"))
}

fn locked(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("a git process has the lock file {name}"))
}

/// Adds the name of a ref to the error of creating its lock file.
fn at(error: &io::Error, name: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{name}.lock: {error}"))
}

#[cfg(test)]
mod tests;
