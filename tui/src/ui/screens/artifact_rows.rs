//! Runs, jobs and artifacts as rows of one tree.
//!
//! The tree is flattened: what is folded is not there. An artifact does not say which job made it,
//! so that jobs and artifacts stand side by side below their run.

use std::{borrow::Cow, cmp::Ordering, collections::HashSet};

use farrier_common::api::{Artifact, Job, Run};

use crate::{
    output::human_bytes,
    ui::{
        list::{Column, Haystack, Row, Shown},
        net::Tree,
        view::Role,
        words,
    },
};

/// A row of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Run { run: Run, artifacts: usize, bytes: i64, folded: bool },
    Job(Job),
    Artifact(Artifact),
}

/// What a row is, whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NodeId {
    Run(i64),
    Job(i64),
    Artifact(i64),
}

/// Soon enough to be worth a sign.
const EXPIRES_SOON_SECS: i64 = 3_600;

/// How the artifacts of one run are sorted; runs keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As they were made, the newest first.
    Made,
    /// The largest first.
    Size,
    /// What expires first, first.
    Expiry,
    Name,
}

impl Order {
    /// With their places in the menu.
    pub(super) const ALL: [(usize, &'static str); 4] = [(0, "CREATED"), (1, "SIZE"), (2, "EXPIRY"), (3, "NAME")];

    pub(super) fn of(place: usize) -> Self {
        [Self::Made, Self::Size, Self::Expiry, Self::Name].get(place).copied().unwrap_or(Self::Made)
    }

    fn compare(self, a: &Artifact, b: &Artifact) -> Ordering {
        match self {
            Self::Made => b.id.cmp(&a.id),
            Self::Size => b.size_in_bytes.cmp(&a.size_in_bytes),
            Self::Expiry => a.expires_at.cmp(&b.expires_at),
            Self::Name => a.name.cmp(&b.name),
        }
    }
}

/// The rows of a tree in which the runs in `folded` show only themselves.
pub(super) fn flatten(tree: &Tree, folded: &HashSet<i64>, (order, reversed): (Order, bool)) -> Vec<Node> {
    let mut rows = Vec::new();
    for run in &tree.runs {
        let artifacts = || tree.artifacts.iter().filter(|artifact| artifact.workflow_run.id == run.id);
        rows.push(Node::Run {
            run: run.clone(),
            artifacts: artifacts().count(),
            bytes: artifacts().map(|artifact| artifact.size_in_bytes).sum(),
            folded: folded.contains(&run.id),
        });
        if !folded.contains(&run.id) {
            rows.extend(tree.jobs.iter().filter(|job| job.run_id == run.id).cloned().map(Node::Job));
            let mut sorted: Vec<&Artifact> = artifacts().collect();
            sorted.sort_by(|a, b| if reversed { order.compare(b, a) } else { order.compare(a, b) });
            rows.extend(sorted.into_iter().cloned().map(Node::Artifact));
        }
    }
    rows
}

fn outcome(status: &str, conclusion: &str) -> Shown {
    match (status, conclusion) {
        ("completed", "success") => Shown::of(Role::Ok, "success"),
        ("completed", "failure") => Shown::of(Role::Error, "FAILURE"),
        ("completed", other) => Shown::of(Role::Muted, other),
        _ => Shown::of(Role::Warn, "running"),
    }
}

fn short(sha: &str) -> String {
    sha.chars().take(7).collect()
}

impl Node {
    fn title(&self) -> String {
        match self {
            Self::Run { run, folded, artifacts, .. } => {
                let sign = if *folded { "▸" } else { "▾" };
                let count = if *folded { format!("  ({artifacts})") } else { String::new() };
                let about = [run.display_title.as_str(), run.head_branch.as_str(), &short(&run.head_sha)]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(" ");
                format!("{sign} run {}  {about}{count}", run.id)
            }
            Self::Job(job) => format!("job {}", job.name),
            Self::Artifact(artifact) => artifact.name.clone(),
        }
    }

    fn state(&self) -> Shown {
        match self {
            Self::Run { run, .. } => outcome(&run.status, &run.conclusion),
            Self::Job(job) => outcome(&job.status, &job.conclusion),
            Self::Artifact(artifact) if artifact.expired => Shown::of(Role::Muted, "expired"),
            Self::Artifact(_) => Shown::of(Role::Ok, "ready"),
        }
    }

    fn created(&self) -> &str {
        match self {
            Self::Run { run, .. } => &run.started_at,
            Self::Job(job) => &job.started_at,
            Self::Artifact(artifact) => &artifact.created_at,
        }
    }
}

static COLUMNS: [Column<Node>; 5] = [
    Column {
        title: "RUN / JOB / ARTIFACT",
        width: 20,
        right: false,
        rank: 0,
        cell: |n, _| match n {
            Node::Run { .. } => Shown::of(Role::Title, n.title()),
            Node::Job(_) => Shown::of(Role::Muted, n.title()),
            Node::Artifact(_) => Shown::plain(n.title()),
        },
        order: None,
    },
    Column {
        title: "SIZE",
        width: 10,
        right: true,
        rank: 1,
        cell: |n, _| match n {
            Node::Run { bytes, .. } => Shown::of(Role::Muted, human_bytes(*bytes)),
            Node::Job(_) => Shown::plain(""),
            Node::Artifact(artifact) => Shown::plain(human_bytes(artifact.size_in_bytes)),
        },
        order: None,
    },
    Column {
        title: "AGE",
        width: 4,
        right: true,
        rank: 3,
        cell: |n, clock| Shown::plain(clock.age(n.created())),
        order: None,
    },
    Column { title: "STATE", width: 9, right: false, rank: 2, cell: |n, _| n.state(), order: None },
    Column {
        title: "EXPIRES IN",
        width: 10,
        right: true,
        rank: 4,
        cell: |n, clock| match n {
            Node::Artifact(artifact) if !artifact.expired => Shown::plain(clock.until(&artifact.expires_at)),
            _ => Shown::plain(""),
        },
        order: None,
    },
];

impl Haystack for Node {
    fn text(&self) -> Cow<'_, str> {
        self.title().into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "state" => Some(self.state().text),
            "run" => match self {
                Self::Run { run, .. } => Some(run.id.to_string()),
                Self::Job(job) => Some(job.run_id.to_string()),
                Self::Artifact(artifact) => Some(artifact.workflow_run.id.to_string()),
            },
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match (name, self) {
            ("size", Self::Artifact(artifact)) => Some(artifact.size_in_bytes),
            ("age", node) => words::seconds_since(node.created(), crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for Node {
    type Id = NodeId;

    fn id(&self) -> NodeId {
        match self {
            Self::Run { run, .. } => NodeId::Run(run.id),
            Self::Job(job) => NodeId::Job(job.id),
            Self::Artifact(artifact) => NodeId::Artifact(artifact.id),
        }
    }

    fn columns() -> &'static [Column<Self>] {
        &COLUMNS
    }

    fn ages() -> &'static [&'static str] {
        &["AGE", "EXPIRES IN"]
    }

    fn filters() -> &'static [&'static str] {
        &["state", "run", "size", "age"]
    }

    fn is_problem(&self) -> bool {
        match self {
            Self::Run { run, .. } => run.conclusion == "failure",
            Self::Job(job) => job.conclusion == "failure",
            Self::Artifact(artifact) => {
                !artifact.expired
                    && words::seconds_since(&artifact.expires_at, crate::clock::now())
                        .is_some_and(|since| since > -EXPIRES_SOON_SECS)
            }
        }
    }

    fn weight(&self) -> i64 {
        match self {
            Self::Artifact(artifact) => artifact.size_in_bytes,
            Self::Run { .. } | Self::Job(_) => 0,
        }
    }

    fn indent(&self) -> u16 {
        if matches!(self, Self::Run { .. }) { 0 } else { 4 }
    }
}
