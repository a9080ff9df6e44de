//! Checks and repairs of repositories for `farrierd check-data`. No daemon serves the repositories at the same
//! time.

use std::{fs, path::PathBuf, time::Duration};

use super::{Git, GitError, ref_name::is_valid, repository};
use crate::{set_aside::SetAside, tasks};

/// Time limit of `git fsck`, which takes long for large repositories.
const FSCK_TIMEOUT: Duration = Duration::from_secs(6 * 3_600);
/// Limit of the output of `git fsck`, bytes.
const FSCK_MAX_BYTES: usize = 64 << 20;

impl Git {
    /// Returns the names of directories whose creation or deletion was interrupted.
    pub async fn partial(&self) -> Result<Vec<String>, GitError> {
        let root = self.0.root.clone();
        let list = move || if root.try_exists()? { repository::list(&root) } else { Ok(repository::Listed::default()) };
        let listed = tasks::blocking(list).await;
        let partial = listed.map_err(GitError::io("listing repositories"))?.partial;
        let names = partial.iter().filter_map(|path| path.file_name());
        Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    /// Returns the branch that `HEAD` points to; `None` if `HEAD` does not name a branch.
    pub async fn head(&self, repository: u64) -> Result<Option<String>, GitError> {
        let head = self.directory(repository).join("HEAD");
        let text = tasks::blocking(move || fs::read_to_string(head)).await;
        let text = text.map_err(GitError::io("reading HEAD"))?;
        Ok(text.trim_end().strip_prefix("ref: refs/heads/").map(str::to_owned))
    }

    /// Returns whether the directory of a repository exists. Directories get this name only when they are
    /// complete.
    pub async fn exists(&self, repository: u64) -> Result<bool, GitError> {
        let directory = self.directory(repository);
        tasks::blocking(move || directory.try_exists()).await.map_err(GitError::io("looking for a repository"))
    }

    /// Returns whether the repository's configuration names SHA-256 as its object format.
    pub async fn is_sha256(&self, repository: u64) -> bool {
        let config = self.directory(repository).join("config");
        let text = tasks::blocking(move || fs::read_to_string(config)).await.unwrap_or_default();
        text.lines().any(|line| {
            let line = line.to_ascii_lowercase();
            line.split_once('=').is_some_and(|(key, value)| key.trim() == "objectformat" && value.trim() == "sha256")
        })
    }

    /// Creates a ref that does not exist. The object must exist.
    pub async fn restore_ref(&self, repository: u64, name: &str, object_id: &str) -> Result<(), GitError> {
        if !is_valid(name) {
            return Err(GitError::Argument { command: "update-ref".into() });
        }
        // The empty old value makes git fail if the ref exists.
        self.call(repository, ["update-ref"]).operands([name, object_id, ""]).run().await.map(drop)
    }

    /// Moves the directory of a repository to `set-aside/<date>/repositories/<id>.git` and returns its new
    /// path; `None` if the directory does not exist. Nothing is deleted.
    pub async fn set_aside(&self, repository: u64, aside: &SetAside) -> Result<Option<PathBuf>, GitError> {
        let target = PathBuf::from(format!("repositories/{repository}.git"));
        let moved = aside.take(self.directory(repository), target).await;
        moved.map_err(GitError::io("setting a repository aside"))
    }

    /// Checks all objects with `git fsck`. Returns the first part of its messages; `None` if it finds nothing
    /// wrong.
    pub async fn fsck(&self, repository: u64) -> Result<Option<String>, GitError> {
        let call = self.call(repository, ["fsck", "--full", "--no-dangling", "--no-progress"]);
        match call.timeout(FSCK_TIMEOUT).output_max_bytes(FSCK_MAX_BYTES).run().await {
            Ok(_) => Ok(None),
            Err(GitError::Failed { stderr, status: Some(_), .. }) if stderr.is_empty() => {
                Ok(Some("git fsck failed without a message".into()))
            }
            Err(GitError::Failed { stderr, status: Some(_), .. }) => Ok(Some(stderr)),
            Err(error) => Err(error),
        }
    }
}
