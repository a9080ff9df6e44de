//! Keeping a repository quick to read: loose objects and small packs become few packs, refs one
//! file. Nothing is ever pruned here.

use std::{fs, io, path::Path};

use super::{Git, GitError};
use crate::tasks;

/// Objects are spread over 256 directories by their id; so many in one of them make some 2,000.
const LOOSE_IN_ONE_MAX: usize = 8;
/// A fetch opens every pack.
const PACKS_MAX: usize = 20;

impl Git {
    /// Tidies a repository if that is worth it; whether it was.
    pub async fn tidy(&self, repository: u64) -> Result<bool, GitError> {
        if !self.is_untidy(repository).await? {
            return Ok(false);
        }
        let _lock = self.lock(repository).await;
        if !self.is_untidy(repository).await? {
            return Ok(false); // somebody else was here
        }
        // Geometric: only small packs are rewritten, so a push seldom waits long for the lock.
        let repack = ["repack", "-d", "-l", "-q", "--geometric=2", "--write-midx"];
        self.run(repository, repack, "").await?;
        self.run(repository, ["pack-refs", "--all"], "").await?;
        self.run(repository, ["commit-graph", "write", "--reachable", "--split", "--no-progress"], "").await?;
        Ok(true)
    }

    /// Bytes of the files of a repository.
    pub async fn size_bytes(&self, repository: u64) -> Result<u64, GitError> {
        let objects = self.directory(repository).join("objects");
        tasks::blocking(move || size(&objects)).await.map_err(GitError::io("measuring a repository"))
    }

    async fn is_untidy(&self, repository: u64) -> Result<bool, GitError> {
        let objects = self.directory(repository).join("objects");
        let look = move || {
            let loose = count(&objects.join("17"), "")? > LOOSE_IN_ONE_MAX;
            Ok(loose || count(&objects.join("pack"), "pack")? > PACKS_MAX)
        };
        tasks::blocking(look).await.map_err(GitError::io("looking at a repository"))
    }
}

fn count(place: &Path, extension: &str) -> io::Result<usize> {
    match fs::read_dir(place) {
        Ok(entries) => {
            let fits = |path: &Path| extension.is_empty() || path.extension().is_some_and(|end| end == extension);
            Ok(entries.flatten().filter(|entry| fits(&entry.path())).count())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Files may go while they are counted.
fn size(place: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(place)?.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        bytes += if about.is_dir() { size(&entry.path()).unwrap_or(0) } else { about.len() };
    }
    Ok(bytes)
}
