//! Which commits of a history are wanted.

use crate::git::{Call, Git};

/// Commits that are reachable from some and not from others, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Where the walk begins: a commit's id.
    pub from: String,
    /// Commits from which it must not be reachable: ids.
    pub not: Vec<String>,
    /// Only commits that touch this file or directory; empty: all.
    pub path: String,
    /// Only commits after it, seconds since the epoch.
    pub since: Option<i64>,
    /// Only commits before it, seconds since the epoch.
    pub until: Option<i64>,
    /// Commits that are passed over.
    pub skip: u64,
    /// Most commits.
    pub limit: usize,
    /// Whether paths and lines that changed are wanted.
    pub changes: bool,
    /// Merges show what differs from every parent, instead of what differs from the first.
    pub combined: bool,
}

/// How the changes of a commit are shown: against its first parent.
const CHANGES: [&str; 6] =
    ["--raw", "--numstat", "--no-abbrev", "--no-renames", "--no-textconv", "--diff-merges=first-parent"];

/// The changes of the commits whose ids it reads, in their order.
pub(super) fn changes_of(git: &Git, repository: u64) -> Call {
    let call = git.call(repository, ["log", "-z", "--format=tformat:%H", "--no-color", "--no-show-signature"]);
    call.args(CHANGES).args(["--no-walk=unsorted", "--stdin"])
}

impl Query {
    /// Whether commits are found first and what they changed is asked for then. With a path, git
    /// would show nothing but that path, and list merges that did not touch it.
    pub(super) fn in_two_steps(&self) -> bool {
        self.changes && !self.combined && !self.path.is_empty()
    }

    /// The one page of commits.
    pub(super) fn log(&self, git: &Git, repository: u64) -> Call {
        let call = git.call(repository, ["log", "-z", "--format=tformat:%H", "--no-color", "--no-show-signature"]);
        let call = match (self.changes, self.combined) {
            (false, _) => call.args(["--no-patch"]),
            (true, true) => call.args(["--raw", "--no-abbrev", "--no-renames", "--diff-merges=combined"]),
            (true, false) => call.args(CHANGES),
        };
        let call = call.args([format!("--skip={}", self.skip), format!("--max-count={}", self.limit)]);
        self.which(call)
    }

    /// The number of commits on all pages.
    pub(super) fn count(&self, git: &Git, repository: u64) -> Call {
        self.which(git.call(repository, ["rev-list", "--count"]))
    }

    fn which(&self, call: Call) -> Call {
        let since = self.since.map(|seconds| format!("--since=@{seconds}"));
        let until = self.until.map(|seconds| format!("--until=@{seconds}"));
        let call = call.args(since).args(until);
        let call = call.args([self.from.clone()]).args(self.not.iter().map(|id| format!("^{id}")));
        let path = (!self.path.is_empty()).then_some(self.path.as_str());
        call.env("GIT_LITERAL_PATHSPECS", "1").paths(path)
    }
}
