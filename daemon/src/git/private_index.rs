//! An index file for one change, so that a patch is applied without a working copy.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use bytes::Bytes;

use super::{Git, GitCommand, GitError};
use crate::model::secret;

/// Name of the directory of index files in the home directory of git processes.
const DIRECTORY: &str = "index";

/// An index file. Removed when it is dropped, or at the next start if the daemon is killed before.
#[derive(Debug)]
pub struct PrivateIndex {
    git: Git,
    repository: u64,
    path: PathBuf,
}

/// Removes the index files that a killed daemon left, and creates their directory. No process of that daemon runs any
/// more. An index contains only ids of objects, and no row refers to it.
pub(super) fn clear(home: &Path) -> io::Result<()> {
    let directory = home.join(DIRECTORY);
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir(&directory)
}

impl Git {
    /// Returns an index file that does not exist yet.
    pub fn private_index(&self, repository: u64) -> PrivateIndex {
        let name = hex::encode(secret::random_bytes::<8>());
        PrivateIndex { git: self.clone(), repository, path: self.0.home.join(DIRECTORY).join(name) }
    }
}

impl PrivateIndex {
    fn call<const N: usize>(&self, args: [&str; N]) -> GitCommand {
        self.git.call(self.repository, args).env("GIT_INDEX_FILE", &self.path)
    }

    /// Fills the index with the tree of the commit `commit`.
    pub async fn read_tree(&self, commit: &str) -> Result<(), GitError> {
        self.call(["read-tree"]).args([commit]).run().await.map(drop)
    }

    /// Applies a unified diff and writes the new blobs.
    pub async fn apply(&self, patch: Bytes) -> Result<(), GitError> {
        let call = self.call(["apply", "--cached", "--whitespace=nowarn", "-"]);
        call.config("core.protectHFS", "true").config("core.protectNTFS", "true").stdin(patch).run().await.map(drop)
    }

    /// Writes the trees and returns the id of the root.
    pub async fn write_tree(&self) -> Result<String, GitError> {
        let output = self.call(["write-tree"]).run().await?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

impl Drop for PrivateIndex {
    fn drop(&mut self) {
        // Only this change uses the file, and it contains nothing that the objects do not have.
        for path in [self.path.clone(), self.path.with_extension("lock")] {
            let _ = fs::remove_file(path); // it may not exist
        }
    }
}
