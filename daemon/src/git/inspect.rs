//! Checks and repairs of repositories for `farrierd check-data`. No daemon serves the repositories at the same
//! time.

use std::{fs, path::PathBuf, time::Duration};

use super::{Git, GitError, ref_name::is_valid, repository};
use crate::{set_aside::SetAside, tasks};

/// Time limit of `git fsck`, which takes long for large repositories.
const FSCK_TIMEOUT: Duration = Duration::from_secs(6 * 3_600);
/// Limit of the output of `git fsck`, bytes.
const FSCK_MAX_BYTES: usize = 64 << 20;
/// Most messages of `git fsck` in one finding.
const FSCK_MESSAGES_MAX: usize = 20;
/// Exit status of `git fsck`: reachable objects are missing, and nothing else is wrong.
const FSCK_UNREACHABLE: i32 = 2;
/// The id of the tree without entries, for both hash functions.
pub(super) const EMPTY_TREES: [&str; 2] =
    ["4b825dc642cb6eb9a060e54bf8d69288fbee4904", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"];

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
        let (stdout, exit) = call.timeout(FSCK_TIMEOUT).output_max_bytes(FSCK_MAX_BYTES).run_to_exit().await?;
        match exit.status {
            Some(0) => Ok(None),
            Some(status) => Ok(errors_of_fsck(&String::from_utf8_lossy(&stdout), &exit.stderr, status)),
            None => Err(GitError::Failed { command: exit.command, status: None, stderr: exit.stderr }),
        }
    }
}

/// Returns the errors in the output of a `git fsck` that ended with an exit status other than 0.
///
/// Warnings and notices are not errors. Git has the empty tree built in and reads it from every repository, but `fsck`
/// calls it missing if a tag or commit names it and no push contained it.
fn errors_of_fsck(stdout: &str, stderr: &str, status: i32) -> Option<String> {
    let is_empty_tree = |line: &&str| line.strip_prefix("missing tree ").is_some_and(|id| EMPTY_TREES.contains(&id));
    let (empty_trees, missing): (Vec<&str>, Vec<&str>) =
        stdout.lines().map(str::trim).filter(|line| !line.is_empty()).partition(is_empty_tree);
    let is_error = |part: &&str| {
        !part.is_empty() && !["warning", "notice"].iter().any(|word| part.split([' ', ':']).next() == Some(*word))
    };
    let errors: Vec<&str> = stderr.split("; ").filter(is_error).chain(missing).take(FSCK_MESSAGES_MAX).collect();
    match errors.as_slice() {
        [] if status == FSCK_UNREACHABLE && !empty_trees.is_empty() => None,
        [] => Some(format!("it ended with the exit status {status} and without a message")),
        errors => Some(errors.join("; ").chars().filter(|c| !c.is_control()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_reported_instead_of_warnings_and_the_empty_tree_is_not_missing() {
        let empty = format!("missing tree {}\n", EMPTY_TREES[0]);
        let warning =
            "warning in tree ca43: badFilemode: contains bad file modes; notice: HEAD points to an unborn branch";
        assert_eq!(errors_of_fsck(&empty, warning, 2), None);
        let missing =
            format!("{empty}broken link from    tree ca43\n              to    blob 45b9\nmissing blob 45b9\n");
        let expected = "broken link from    tree ca43; to    blob 45b9; missing blob 45b9";
        assert_eq!(errors_of_fsck(&missing, warning, 2).as_deref(), Some(expected));
        let error = "error in commit 12: missingAuthor: invalid format";
        assert_eq!(errors_of_fsck(&empty, &format!("{warning}; {error}"), 3).as_deref(), Some(error));
        assert!(errors_of_fsck(&empty, warning, 4).is_some_and(|text| text.contains("status 4")), "a bad pack");
        assert!(errors_of_fsck("", "", 2).is_some());
    }
}
