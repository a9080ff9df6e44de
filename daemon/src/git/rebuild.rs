//! Creates the directory of a repository again, and puts packs into it that were fetched from a bucket.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    Git, GitError, PackFacts, RepositoryLock,
    packs::{self, PackPaths},
    repository::{NEW, create_dir, rename_into_place},
};
use crate::{model::secret, tasks};

/// Start of the names of files that are being fetched. Git does not read them, and removes them when it packs objects.
const FETCHED: &str = "tmp_fetched-";

/// A directory into which packs are put: that of a repository, or a new directory, which is moved there later.
#[derive(Clone, Debug)]
pub struct PackTarget {
    /// The directory of the repository.
    directory: PathBuf,
}

impl PackTarget {
    async fn create_directory(&self) -> Result<(), GitError> {
        let packs = packs::directory(&self.directory);
        tasks::blocking(move || create_dir(&packs)).await.map_err(GitError::io("creating a directory of packs"))
    }

    /// Returns unused paths for the files of a pack.
    pub fn temporary(&self) -> PackPaths {
        let name = format!("{FETCHED}{}", hex::encode(secret::random_bytes::<8>()));
        PackPaths::new(&packs::directory(&self.directory), &name)
    }

    /// Writes the files of a pack to unused paths, and syncs them.
    pub async fn write(&self, files: &PackPaths, (pack, index): (Vec<u8>, Vec<u8>)) -> Result<(), GitError> {
        let contents = [(files.pack.clone(), pack), (files.index.clone(), index)];
        let write = move || {
            contents.iter().try_for_each(|(path, content)| {
                let mut file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(path)?;
                file.write_all(content)?;
                file.sync_all()
            })
        };
        tasks::blocking(write).await.map_err(GitError::io("writing the files of a pack"))
    }

    /// Puts a pack into the repository if `files` have the sizes, ends and content that `facts` name. Replaces files
    /// with its name. The pack comes first, because git uses a pack as soon as it has an index.
    ///
    /// Files that are replaced are incomplete or damaged: the caller found another size than in the row.
    pub async fn put(&self, files: PackPaths, name: &str, facts: PackFacts, sha256: bool) -> Result<(), GitError> {
        let (directory, name) = (packs::directory(&self.directory), name.to_owned());
        let put = move || -> io::Result<()> {
            if let Some(problem) = files.problem(&facts, sha256) {
                return Err(io::Error::other(problem));
            }
            let to = PackPaths::new(&directory, &name);
            fs::rename(&files.pack, &to.pack)?;
            fs::rename(&files.index, &to.index)
        };
        tasks::blocking(put).await.map_err(GitError::io("putting a pack into a repository"))
    }
}

/// Removes the files when it is dropped. They have temporary names, so no repository uses them.
#[derive(Debug)]
pub struct Temporary(pub PackPaths);

impl Drop for Temporary {
    fn drop(&mut self) {
        for path in [&self.0.pack, &self.0.index] {
            _ = fs::remove_file(path);
        }
    }
}

impl Git {
    /// Returns the packs of which a file is missing in the directory of a repository or has another size.
    pub async fn lacking_packs(
        &self,
        repository: u64,
        known: BTreeMap<String, PackFacts>,
    ) -> Result<Vec<(String, PackFacts)>, GitError> {
        let directory = packs::directory(&self.directory(repository));
        let look = move || {
            let has = |path: &Path, bytes| match path.metadata() {
                Ok(about) => Ok(about.is_file() && about.len() == bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            };
            let mut lacking = Vec::new();
            for (name, facts) in known {
                let files = PackPaths::new(&directory, &name);
                if !has(&files.pack, facts.bytes)? || !has(&files.index, facts.index_bytes)? {
                    lacking.push((name, facts));
                }
            }
            Ok(lacking)
        };
        tasks::blocking(look).await.map_err(GitError::io("looking for the packs of a repository"))
    }

    /// Returns where missing packs of a repository are put. They are used at once, so an incomplete pack stays unused.
    pub async fn packs_of(&self, repository: u64, _lock: &RepositoryLock) -> Result<PackTarget, GitError> {
        let target = PackTarget { directory: self.directory(repository) };
        target.create_directory().await?;
        Ok(target)
    }

    /// Ends the use of files that were replaced: the daemon opens the packs of the repository again.
    pub fn note_packs_replaced(&self, repository: u64, _lock: &RepositoryLock) {
        self.close_packs(repository);
    }

    /// Begins a directory for a repository that has none. It is used when [`Git::publish_copy`] has moved it to its
    /// place. If that does not happen, the next start removes it.
    pub async fn begin_copy(
        &self,
        repository: u64,
        default_branch: &str,
        sha256: bool,
        _lock: &RepositoryLock,
    ) -> Result<PackTarget, GitError> {
        let directory = self.staging(NEW, repository);
        let created = self.init_at(repository, &directory, default_branch, sha256).await;
        let target = PackTarget { directory };
        if let Err(error) = created {
            self.discard_copy(target).await;
            return Err(error);
        }
        target.create_directory().await?;
        Ok(target)
    }

    /// Moves a complete directory to its place.
    pub async fn publish_copy(
        &self,
        repository: u64,
        copy: PackTarget,
        _lock: &RepositoryLock,
    ) -> Result<(), GitError> {
        let target = self.directory(repository);
        let moved = tasks::blocking(move || rename_into_place(&copy.directory, &target));
        moved.await.map_err(GitError::io("moving a repository to its directory"))
    }

    /// Removes a directory that was not published. It has only files that were fetched.
    pub async fn discard_copy(&self, copy: PackTarget) {
        _ = tasks::blocking(move || fs::remove_dir_all(copy.directory)).await;
    }
}
