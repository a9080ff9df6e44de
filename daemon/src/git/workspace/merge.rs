//! Merges two commits without a working copy.

use super::Workspace;
use crate::git::GitError;

/// Exit status of `git merge-base` without a result, and of `git merge-tree` with conflicts.
const NEGATIVE: i32 = 1;
/// Limit of the list of files with conflicts, bytes.
const CONFLICTS_MAX_BYTES: usize = 1 << 20;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergedTree {
    /// The id of the merged tree.
    Clean(String),
    /// The paths with conflicts.
    Conflicts(Vec<String>),
}

impl Workspace {
    /// Returns the best common ancestor of two commits; `None` if there is none.
    pub async fn merge_base(&self, first: &str, second: &str) -> Result<Option<String>, GitError> {
        let (output, exit) = self.call(["merge-base"]).args([first, second]).run_to_exit().await?;
        if exit.status == Some(NEGATIVE) {
            return Ok(None);
        }
        exit.success()?;
        Ok(String::from_utf8_lossy(&output).lines().next().map(str::to_owned))
    }

    /// Counts the commits that `to` reaches and `from` does not.
    pub async fn count_commits(&self, from: &str, to: &str) -> Result<u64, GitError> {
        let output = self.call(["rev-list", "--count"]).args([to.to_owned(), format!("^{from}")]).run().await?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0))
    }

    /// Merges two commits that have a common ancestor, and writes the trees.
    pub async fn merge_trees(&self, ours: &str, theirs: &str) -> Result<MergedTree, GitError> {
        let call = self.call(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"]);
        let (output, exit) = call.args([ours, theirs]).output_max_bytes(CONFLICTS_MAX_BYTES).run_to_exit().await?;
        let text = String::from_utf8_lossy(&output);
        let mut parts = text.split('\0').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned);
        let tree = parts.next().unwrap_or_default();
        if exit.status == Some(NEGATIVE) {
            return Ok(MergedTree::Conflicts(parts.collect()));
        }
        exit.success()?;
        Ok(MergedTree::Clean(tree))
    }
}
