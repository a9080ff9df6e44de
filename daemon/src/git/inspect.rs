//! Looking at repositories that no daemon serves, and mending what is safe to mend.

use std::{fs, path::PathBuf, time::Duration};

use super::{Git, GitError, ref_name::is_valid, repository};
use crate::{set_aside::SetAside, tasks};

/// Checking all objects of a large repository takes its time.
const FSCK_TIMEOUT: Duration = Duration::from_secs(6 * 3_600);
/// What is wrong with many objects is said of some.
const FSCK_MAX_BYTES: usize = 64 << 20;

impl Git {
    /// Names of directories that are half made or half deleted.
    pub async fn partial(&self) -> Result<Vec<String>, GitError> {
        let root = self.0.root.clone();
        let list = move || if root.try_exists()? { repository::list(&root) } else { Ok(repository::Listed::default()) };
        let listed = tasks::blocking(list).await;
        let partial = listed.map_err(GitError::io("listing repositories"))?.partial;
        let names = partial.iter().filter_map(|path| path.file_name());
        Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    /// The branch that `HEAD` names; `None`: it names none.
    pub async fn head(&self, repository: u64) -> Result<Option<String>, GitError> {
        let head = self.directory(repository).join("HEAD");
        let text = tasks::blocking(move || fs::read_to_string(head)).await;
        let text = text.map_err(GitError::io("reading HEAD"))?;
        Ok(text.trim_end().strip_prefix("ref: refs/heads/").map(str::to_owned))
    }

    /// Whether the directory of a repository is in its place. It is whole then.
    pub async fn is_placed(&self, repository: u64) -> Result<bool, GitError> {
        let directory = self.directory(repository);
        tasks::blocking(move || directory.try_exists()).await.map_err(GitError::io("looking for a repository"))
    }

    /// Whether the objects of a repository are named with SHA-256, as its configuration says.
    pub async fn is_sha256(&self, repository: u64) -> bool {
        let config = self.directory(repository).join("config");
        let text = tasks::blocking(move || fs::read_to_string(config)).await.unwrap_or_default();
        text.lines().any(|line| {
            let line = line.to_ascii_lowercase();
            line.split_once('=').is_some_and(|(key, value)| key.trim() == "objectformat" && value.trim() == "sha256")
        })
    }

    /// Makes a ref that is not there name an object that is.
    pub async fn restore_ref(&self, repository: u64, name: &str, object_id: &str) -> Result<(), GitError> {
        if !is_valid(name) {
            return Err(GitError::Argument { command: "update-ref".into() });
        }
        // An empty old value: the ref must not be there.
        self.call(repository, ["update-ref"]).operands([name, object_id, ""]).run().await.map(drop)
    }

    /// Moves the directory of a repository to `set-aside/<date>/repositories/<id>.git` and returns its
    /// new path; `None` if there is no such directory. Nothing is deleted.
    pub async fn set_aside(&self, repository: u64, aside: &SetAside) -> Result<Option<PathBuf>, GitError> {
        let target = PathBuf::from(format!("repositories/{repository}.git"));
        let moved = aside.take(self.directory(repository), target).await;
        moved.map_err(GitError::io("setting a repository aside"))
    }

    /// Has git check all objects; gives what it says is wrong, the first words of it.
    pub async fn fsck(&self, repository: u64) -> Result<Option<String>, GitError> {
        let call = self.call(repository, ["fsck", "--full", "--no-dangling", "--no-progress"]);
        match call.timeout(FSCK_TIMEOUT).output_max_bytes(FSCK_MAX_BYTES).run().await {
            Ok(_) => Ok(None),
            Err(GitError::Failed { stderr, status: Some(_), .. }) if stderr.is_empty() => {
                Ok(Some("git fsck found something".into()))
            }
            Err(GitError::Failed { stderr, status: Some(_), .. }) => Ok(Some(stderr)),
            Err(error) => Err(error),
        }
    }
}
