//! Builds the `git log` and `git rev-list` commands of history queries.

use crate::git::{Git, GitCommand};

/// Selects commits of a history, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HistoryQuery {
    /// Id of the commit at which the walk starts.
    pub from: String,
    /// Ids of commits whose ancestors are excluded.
    pub not: Vec<String>,
    /// Only commits that change this file or directory; empty for all.
    pub path: String,
    /// Only commits after this time, seconds since the epoch.
    pub since: Option<i64>,
    /// Only commits before this time, seconds since the epoch.
    pub until: Option<i64>,
    /// Number of matching commits to skip.
    pub skip: u64,
    /// Maximum number of commits.
    pub limit: usize,
    /// Whether to return changed paths and line counts.
    pub changes: bool,
    /// For merges, show the changes relative to all parents instead of the first parent.
    pub combined: bool,
}

/// Options that show the changes of a commit relative to its first parent.
const CHANGES: [&str; 6] =
    ["--raw", "--numstat", "--no-abbrev", "--no-renames", "--no-textconv", "--diff-merges=first-parent"];

/// Returns a command that reads commit ids from its input and prints the changes of these commits, in the same
/// order.
pub(super) fn changes_of(git: &Git, repository: u64) -> GitCommand {
    let call = git.call(repository, ["log", "-z", "--format=tformat:%H", "--no-color", "--no-show-signature"]);
    call.args(CHANGES).args(["--no-walk=unsorted", "--stdin"])
}

impl HistoryQuery {
    /// Returns whether the query needs two commands: the first selects commits, the second prints their
    /// changes. With a path, a single command would print only changes of that path and include merges that did
    /// not change it.
    pub(super) fn in_two_steps(&self) -> bool {
        self.changes && !self.combined && !self.path.is_empty()
    }

    /// Returns the command that lists one page of commits.
    pub(super) fn log(&self, git: &Git, repository: u64) -> GitCommand {
        let call = git.call(repository, ["log", "-z", "--format=tformat:%H", "--no-color", "--no-show-signature"]);
        let call = match (self.changes, self.combined) {
            (false, _) => call.args(["--no-patch"]),
            (true, true) => call.args(["--raw", "--no-abbrev", "--no-renames", "--diff-merges=combined"]),
            (true, false) => call.args(CHANGES),
        };
        let call = call.args([format!("--skip={}", self.skip), format!("--max-count={}", self.limit)]);
        self.select(call)
    }

    /// Returns the command that counts the commits of all pages.
    pub(super) fn count(&self, git: &Git, repository: u64) -> GitCommand {
        self.select(git.call(repository, ["rev-list", "--count"]))
    }

    fn select(&self, call: GitCommand) -> GitCommand {
        let since = self.since.map(|seconds| format!("--since=@{seconds}"));
        let until = self.until.map(|seconds| format!("--until=@{seconds}"));
        let call = call.args(since).args(until);
        let call = call.args([self.from.clone()]).args(self.not.iter().map(|id| format!("^{id}")));
        let path = (!self.path.is_empty()).then_some(self.path.as_str());
        call.env("GIT_LITERAL_PATHSPECS", "1").paths(path)
    }
}
