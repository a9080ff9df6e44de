//! Columns, filter fields and texts of the rows for runs, jobs and artifacts.

use std::borrow::Cow;

use super::tree::{Node, NodeId};
use crate::{
    output::human_bytes,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        runs::{ArtifactSummary, Outcome, RunSummary, State},
        view::Role,
        words,
    },
};

pub(crate) fn outcome(outcome: Outcome) -> CellText {
    match outcome {
        Outcome::Running => CellText::of(Role::Warn, "running"),
        Outcome::Success => CellText::plain("success"),
        Outcome::Failure => CellText::of(Role::Error, "FAILURE"),
        Outcome::Cancelled => CellText::of(Role::Muted, "cancelled"),
        Outcome::Skipped => CellText::of(Role::Muted, "skipped"),
    }
}

pub(super) fn state(artifact: &ArtifactSummary) -> CellText {
    match artifact.state {
        State::Uploading => CellText::of(Role::Warn, "uploading"),
        State::Ready => CellText::plain("ready"),
        State::Expired => CellText::of(Role::Muted, "expired"),
    }
}

fn fold_sign(folded: bool) -> &'static str {
    if folded { "▸" } else { "▾" }
}

/// Returns the branch and the abbreviated commit, if they are known.
pub(super) fn commit(run: &RunSummary) -> String {
    let sha: String = run.sha().chars().take(7).collect();
    [run.branch(), &sha].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn joined(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("  ")
}

impl Node {
    fn title(&self) -> String {
        match self {
            Self::Run { run, folded, sum, named } => {
                let count = if *folded { format!(" ({})", sum.artifacts) } else { String::new() };
                let head = format!("{} run {}{count}", fold_sign(*folded), run.id);
                // In the list of all repositories, the name of the repository is more useful than that of the workflow.
                let whose = if *named { &run.repo } else { run.title() };
                joined(&[&head, whose, &if *folded { String::new() } else { commit(run) }])
            }
            Self::Job { folded, sum, .. } => {
                let name = self.job().map_or("", |job| &job.name);
                let count = if *folded { format!("({})", sum.artifacts) } else { String::new() };
                joined(&[&format!("{} job {name}", fold_sign(*folded)), &count])
            }
            Self::Artifact { artifact, run, ungrouped: true, .. } => {
                joined(&[artifact.name(), &format!("run {}", run.id), &run.repo])
            }
            Self::Artifact { artifact, .. } => artifact.name().to_string(),
        }
    }

    /// Returns the name of the row for use outside the list.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Run { run, .. } => format!("run {}", run.id),
            Self::Job { .. } => format!("job {}", self.job().map_or("", |job| &job.name)),
            Self::Artifact { artifact, .. } => artifact.name().to_owned(),
        }
    }

    fn shown_state(&self) -> CellText {
        match self {
            Self::Run { run, .. } => outcome(run.outcome),
            Self::Job { .. } => outcome(self.job().map(|job| job.outcome).unwrap_or_default()),
            Self::Artifact { artifact, .. } => state(artifact),
        }
    }

    fn created(&self) -> i64 {
        match self {
            Self::Run { run, .. } => run.began,
            Self::Job { .. } => self.job().map_or(0, |job| job.began),
            Self::Artifact { artifact, .. } => artifact.created(),
        }
    }

    fn size(&self) -> i64 {
        match self {
            Self::Run { sum, .. } | Self::Job { sum, .. } => sum.bytes,
            Self::Artifact { artifact, .. } => artifact.size,
        }
    }
}

static COLUMNS: [Column<Node>; 6] = [
    Column {
        title: "RUN / JOB / ARTIFACT",
        width: 26,
        right: false,
        rank: 0,
        cell: |n, _| match n {
            Node::Run { .. } => CellText::of(Role::Title, n.title()),
            Node::Job { .. } => CellText::of(Role::Muted, n.title()),
            Node::Artifact { .. } => CellText::plain(n.title()),
        },
        order: None,
    },
    Column {
        title: "SIZE",
        width: 10,
        right: true,
        rank: 1,
        cell: |n, _| match n {
            Node::Artifact { artifact, .. } if artifact.is_uploading() => CellText::of(Role::Muted, "-"),
            Node::Artifact { artifact, .. } => CellText::plain(human_bytes(artifact.size)),
            Node::Run { folded: true, .. } | Node::Job { folded: true, .. } => {
                CellText::of(Role::Muted, human_bytes(n.size()))
            }
            Node::Run { .. } | Node::Job { .. } => CellText::plain(""),
        },
        order: None,
    },
    Column {
        title: "VER",
        width: 3,
        right: true,
        rank: 5,
        cell: |n, _| match n {
            Node::Artifact { artifact, .. } if artifact.version > 0 => {
                CellText::plain(format!("v{}", artifact.version))
            }
            _ => CellText::plain(""),
        },
        order: None,
    },
    Column {
        title: "CREATED",
        width: 7,
        right: true,
        rank: 4,
        cell: |n, clock| match n {
            Node::Job { .. } => CellText::plain(""),
            _ => CellText::plain(clock.day(n.created())),
        },
        order: None,
    },
    Column { title: "STATE", width: 9, right: false, rank: 3, cell: |n, _| n.shown_state(), order: None },
    Column {
        title: "EXPIRES IN",
        width: 10,
        right: true,
        rank: 2,
        cell: |n, clock| match n {
            Node::Artifact { artifact, soon, .. } if artifact.is_ready() => {
                let left = clock.until(artifact.expires());
                if *soon { CellText::of(Role::Warn, left) } else { CellText::plain(left) }
            }
            Node::Artifact { .. } => CellText::of(Role::Muted, "-"),
            _ => CellText::plain(""),
        },
        order: None,
    },
];

impl Haystack for Node {
    fn text(&self) -> Cow<'_, str> {
        match self {
            // A match on a repository includes its runs.
            Self::Artifact { artifact, .. } => artifact.text().into(),
            Self::Job { run, .. } => format!("{} {}", self.job().map_or("", |job| &job.name), run.repo).into(),
            Self::Run { run, .. } => joined(&[&format!("run {}", run.id), &run.repo, run.title(), &commit(run)]).into(),
        }
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => self.artifact().map(|artifact| artifact.name().to_string()),
            "state" => Some(self.shown_state().text),
            "run" => Some(self.run().id.to_string()),
            "job" => self.job().map(|job| job.name.to_string()),
            "repo" => Some(self.run().repo.to_string()),
            "commit" => Some(self.run().sha().to_owned()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        let since = |then| words::seconds_from(then, crate::clock::now());
        match (name, self) {
            ("size", Self::Artifact { artifact, .. }) => Some(artifact.size),
            ("expires", Self::Artifact { artifact, .. }) if artifact.is_ready() => {
                since(artifact.expires()).map(|since| -since)
            }
            ("age", node) => since(node.created()),
            _ => None,
        }
    }
}

impl Row for Node {
    type Id = NodeId;

    const LIST: &'static str = "runs";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("name"),
        FilterColumn::text("state"),
        FilterColumn::text("run"),
        FilterColumn::text("job"),
        FilterColumn::text("repo"),
        FilterColumn::text("commit"),
        FilterColumn::size("size"),
        FilterColumn::age("age"),
        FilterColumn::age("expires"),
    ];

    fn id(&self) -> NodeId {
        match self {
            Self::Run { run, .. } => NodeId::Run(run.id),
            Self::Job { .. } => NodeId::Job(self.job().map_or(0, |job| job.id)),
            Self::Artifact { artifact, .. } => NodeId::Artifact(artifact.id),
        }
    }

    fn ages() -> &'static [&'static str] {
        &["CREATED", "EXPIRES IN"]
    }

    fn is_problem(&self) -> bool {
        match self {
            Self::Run { run, sum, folded, .. } => run.outcome == Outcome::Failure || *folded && sum.soon,
            Self::Job { sum, folded, .. } => {
                self.job().is_some_and(|job| job.outcome == Outcome::Failure) || *folded && sum.soon
            }
            Self::Artifact { soon, .. } => *soon,
        }
    }

    fn weight(&self) -> i64 {
        self.artifact().map_or(0, |artifact| artifact.size)
    }

    fn indent(&self) -> u16 {
        match self {
            Self::Run { .. } | Self::Artifact { ungrouped: true, .. } => 0,
            Self::Job { .. } => 2,
            Self::Artifact { .. } => 4,
        }
    }
}
