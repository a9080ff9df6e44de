//! What the daemon answered, typed.

use std::path::PathBuf;

use farrier_common::api::{Artifact, Branch, Health, Job, Repository, Run, Status};

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// How many there are in all, as far as the daemon says.
    pub(crate) total: Option<i64>,
    /// Whether nothing follows.
    pub(crate) last: bool,
}

/// An answer, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Status(Box<(Status, Health)>),
    Repositories(Page<Repository>),
    Repository(Box<Repository>),
    Branches(Page<Branch>),
    Runs(Box<Tree>),
    /// How far a download is.
    Progress {
        have: u64,
        size: u64,
    },
    /// A download that is complete and checked.
    Saved(PathBuf),
    /// What came of each of several things, in their order: nothing, or why not.
    Each(Vec<(i64, Option<String>)>),
    /// It is done.
    Done,
}

/// The runs of a repository with what belongs to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) runs: Vec<Run>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) artifacts: Vec<Artifact>,
}
