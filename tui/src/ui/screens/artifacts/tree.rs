//! Turns runs, jobs and artifacts into a flat list of rows.
//!
//! Folded rows are not in the list. While a filter or the "problems only" switch leaves rows out, nothing is
//! folded, and each artifact names its run.

use std::{cmp::Ordering, collections::HashSet, sync::Arc};

use crate::ui::runs::{ArtifactSummary, Entry, JobSummary, RunSummary, Tree};

/// A row of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Run {
        run: Arc<RunSummary>,
        sum: Totals,
        folded: bool,
        /// Whether the row names its repository.
        named: bool,
    },
    Job {
        run: Arc<RunSummary>,
        /// Index of the job in its run.
        at: usize,
        sum: Totals,
        folded: bool,
    },
    Artifact {
        artifact: Arc<ArtifactSummary>,
        run: Arc<RunSummary>,
        /// Whether the row of its run is not shown above it.
        ungrouped: bool,
        soon: bool,
    },
}

/// Totals of the rows below a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(super) artifacts: usize,
    pub(super) bytes: i64,
    /// Whether one of them expires soon.
    pub(super) soon: bool,
}

impl Totals {
    fn of<'a>(artifacts: impl Iterator<Item = &'a Arc<ArtifactSummary>>, now: i64) -> Self {
        artifacts.fold(Self::default(), |sum, one| Self {
            artifacts: sum.artifacts + 1,
            bytes: sum.bytes + if one.is_ready() { one.size } else { 0 },
            soon: sum.soon || expires_soon(one, now),
        })
    }
}

/// Identity of a row, independent of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NodeId {
    Run(i64),
    Job(i64),
    Artifact(i64),
}

/// Artifacts that expire within this time are highlighted.
const EXPIRES_SOON_SECS: i64 = 86_400;

pub(super) fn expires_soon(artifact: &ArtifactSummary, now: i64) -> bool {
    artifact.is_ready() && artifact.expires() > 0 && artifact.expires() - now < EXPIRES_SOON_SECS
}

/// Sort order of runs, and of the artifacts of each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ArtifactOrder {
    /// By creation time, the newest first.
    #[default]
    Created,
    /// By size, the largest first.
    Size,
    /// By expiry time, the earliest first.
    Expiry,
    /// By name; runs by the name of their repository.
    Name,
}

impl ArtifactOrder {
    /// All orders, with their positions in the menu.
    pub(super) const ALL: [(usize, &'static str); 4] = [(0, "CREATED"), (1, "SIZE"), (2, "EXPIRY"), (3, "NAME")];

    pub(super) fn of(index: usize) -> Self {
        [Self::Created, Self::Size, Self::Expiry, Self::Name].get(index).copied().unwrap_or_default()
    }

    pub(super) fn name(self) -> String {
        let (_, name) = Self::ALL[self as usize];
        name.to_lowercase()
    }

    fn artifacts(self, a: &ArtifactSummary, b: &ArtifactSummary) -> Ordering {
        let by = match self {
            Self::Created => Ordering::Equal,
            Self::Size => b.size.cmp(&a.size),
            Self::Expiry => last(a.expires()).cmp(&last(b.expires())),
            Self::Name => a.name().cmp(b.name()),
        };
        by.then(b.id.cmp(&a.id))
    }

    fn entries(self, entries: &mut [&Entry]) {
        match self {
            Self::Created => {}
            Self::Size => entries.sort_by_cached_key(|entry| std::cmp::Reverse(entry.bytes())),
            Self::Expiry => entries.sort_by_cached_key(|entry| last(entry.expires())),
            Self::Name => entries.sort_by(|a, b| a.run.repo.cmp(&b.run.repo)),
        }
    }
}

/// Sorts "no time" after all times.
fn last(time: i64) -> i64 {
    if time == 0 { i64::MAX } else { time }
}

/// Options for building the rows of a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeOptions {
    /// Runs that are unfolded, and jobs that are folded.
    pub(super) open: HashSet<i64>,
    pub(super) folded_jobs: HashSet<i64>,
    pub(super) order: ArtifactOrder,
    pub(super) reversed: bool,
    /// Whether all rows are shown unfolded, and each artifact names its run.
    pub(super) flat: bool,
    /// Whether rows name their repository.
    pub(super) named: bool,
    /// Seconds since 1970.
    pub(super) now: i64,
}

impl TreeOptions {
    /// Returns the rows of a tree.
    pub(super) fn flatten(&self, tree: &Tree) -> Vec<Node> {
        let mut entries: Vec<&Entry> = tree.entries().collect();
        self.order.entries(&mut entries);
        if self.reversed {
            entries.reverse();
        }
        let mut rows = Vec::with_capacity(entries.len());
        for entry in entries {
            self.add(entry, &mut rows);
        }
        rows
    }

    fn add(&self, entry: &Entry, rows: &mut Vec<Node>) {
        let run = &entry.run;
        let folded = !self.flat && !self.open.contains(&run.id);
        let sum = Totals::of(entry.artifacts.iter(), self.now);
        rows.push(Node::Run { run: Arc::clone(run), sum, folded, named: self.named });
        if folded {
            return;
        }
        let mut sorted: Vec<&Arc<ArtifactSummary>> = entry.artifacts.iter().collect();
        sorted.sort_by(|a, b| self.order.artifacts(a, b));
        if self.reversed {
            sorted.reverse();
        }
        for (at, job) in run.jobs.iter().enumerate() {
            let own = || sorted.iter().copied().filter(|one| one.job == job.id);
            let folded = !self.flat && self.folded_jobs.contains(&job.id);
            rows.push(Node::Job { run: Arc::clone(run), at, sum: Totals::of(own(), self.now), folded });
            if !folded {
                rows.extend(own().map(|one| self.artifact(one, run)));
            }
        }
        let known = |one: &ArtifactSummary| run.jobs.iter().any(|job| job.id == one.job);
        rows.extend(sorted.iter().filter(|one| !known(one)).map(|one| self.artifact(one, run)));
    }

    fn artifact(&self, artifact: &Arc<ArtifactSummary>, run: &Arc<RunSummary>) -> Node {
        let soon = expires_soon(artifact, self.now);
        Node::Artifact { artifact: Arc::clone(artifact), run: Arc::clone(run), ungrouped: self.flat, soon }
    }
}

impl Node {
    pub(super) fn run(&self) -> &Arc<RunSummary> {
        match self {
            Self::Run { run, .. } | Self::Job { run, .. } | Self::Artifact { run, .. } => run,
        }
    }

    pub(super) fn job(&self) -> Option<&JobSummary> {
        match self {
            Self::Run { .. } => None,
            Self::Job { run, at, .. } => run.jobs.get(*at),
            Self::Artifact { artifact, run, .. } => run.jobs.iter().find(|job| job.id == artifact.job),
        }
    }

    pub(super) fn artifact(&self) -> Option<&Arc<ArtifactSummary>> {
        if let Self::Artifact { artifact, .. } = self { Some(artifact) } else { None }
    }
}
