//! The jobs of a run as rows, each followed by its artifacts.

use std::borrow::Cow;

use farrier_common::api::{FoundArtifact, FoundJob};

use super::rows::{job_facts, took};
use crate::{
    output::human_bytes,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        runs::Outcome,
        screens::{ThirdPane, artifacts::rows::outcome},
        times::Clock,
        view::Role,
        words,
    },
};

/// A job or an artifact of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RunPart {
    Job(FoundJob),
    Artifact(Box<FoundArtifact>),
}

/// Identity of a row, independent of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RunPartId {
    Job(i64),
    Artifact(i64),
}

/// Returns the rows of a run: each job with its artifacts, then the artifacts of other jobs.
pub(super) fn of(jobs: Vec<FoundJob>, artifacts: Vec<FoundArtifact>) -> Vec<RunPart> {
    let mut left = artifacts;
    let mut rows = Vec::with_capacity(jobs.len() + left.len());
    for job in jobs {
        let (own, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|one| one.job.id == job.id);
        rows.push(RunPart::Job(job));
        rows.extend(own.into_iter().map(RunPart::artifact_row));
        left = others;
    }
    rows.extend(left.into_iter().map(RunPart::artifact_row));
    rows
}

impl RunPart {
    fn artifact_row(artifact: FoundArtifact) -> Self {
        Self::Artifact(Box::new(artifact))
    }

    /// Returns its name for use outside the list.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Job(job) => format!("job {}", job.name),
            Self::Artifact(artifact) => artifact.name.clone(),
        }
    }

    /// Returns the third pane: all fields.
    pub(super) fn third_pane(&self, room: u16, clock: &Clock) -> ThirdPane {
        let (title, fields) = match self {
            Self::Job(job) => ("Job", job_facts(job, clock)),
            Self::Artifact(artifact) => ("Artifact", artifact_facts(artifact, clock)),
        };
        let lines = fields.lines().map(|line| (Role::Text, line.to_owned()));
        ThirdPane::text(title, lines.collect(), room)
    }

    fn artifact(&self) -> Option<&FoundArtifact> {
        if let Self::Artifact(artifact) = self { Some(artifact.as_ref()) } else { None }
    }
}

fn artifact_state(artifact: &FoundArtifact) -> CellText {
    match artifact.state.as_str() {
        "uploading" => CellText::of(Role::Warn, "uploading"),
        _ if artifact.expired => CellText::of(Role::Muted, "expired"),
        _ => CellText::plain("ready"),
    }
}

/// Returns all fields of an artifact, one per line.
fn artifact_facts(artifact: &FoundArtifact, clock: &Clock) -> String {
    let is_uploading = artifact.state == "uploading";
    let complete = |value: String| if is_uploading { String::new() } else { value };
    words::fields([
        ("ID", artifact.id.to_string()),
        ("name", artifact.name.clone()),
        ("job", artifact.job.name.clone()),
        ("state", artifact_state(artifact).text),
        ("size", complete(human_bytes(artifact.size_in_bytes))),
        ("created", clock.stamp(&artifact.created_at)),
        ("expires", complete(clock.stamp(&artifact.expires_at))),
        ("digest", artifact.digest.clone()),
    ])
}

fn state(part: &RunPart) -> CellText {
    match part {
        RunPart::Job(job) => outcome(Outcome::of(&job.status, &job.conclusion)),
        RunPart::Artifact(artifact) => artifact_state(artifact),
    }
}

fn size(part: &RunPart) -> CellText {
    match part {
        RunPart::Artifact(artifact) if artifact.state != "uploading" => {
            CellText::plain(human_bytes(artifact.size_in_bytes))
        }
        _ => CellText::plain(""),
    }
}

/// Returns how long a job took, or when an artifact expires.
fn time(part: &RunPart, clock: &Clock) -> CellText {
    match part {
        RunPart::Job(job) => CellText::of(Role::Muted, took(job, clock)),
        RunPart::Artifact(artifact) if artifact.expired || artifact.state == "uploading" => CellText::plain(""),
        RunPart::Artifact(artifact) => CellText::plain(clock.until(words::seconds(&artifact.expires_at))),
    }
}

static COLUMNS: [Column<RunPart>; 4] = [
    Column {
        title: "JOB / ARTIFACT",
        width: 14,
        right: false,
        rank: 0,
        cell: |part, _| match part {
            RunPart::Job(_) => CellText::of(Role::Title, part.name()),
            RunPart::Artifact(_) => CellText::plain(part.name()),
        },
        order: None,
    },
    Column { title: "STATE", width: 9, right: false, rank: 0, cell: |part, _| state(part), order: None },
    Column { title: "SIZE", width: 9, right: true, rank: 1, cell: |part, _| size(part), order: None },
    Column { title: "TOOK/LEFT", width: 9, right: true, rank: 2, cell: time, order: None },
];

impl Haystack for RunPart {
    fn text(&self) -> Cow<'_, str> {
        self.name().into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "name" => Some(self.name()),
            "state" => Some(state(self).text),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.artifact().filter(|_| name == "size").map(|artifact| artifact.size_in_bytes)
    }
}

impl Row for RunPart {
    type Id = RunPartId;

    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] =
        &[FilterColumn::text("name"), FilterColumn::text("state"), FilterColumn::size("size")];

    fn id(&self) -> RunPartId {
        match self {
            Self::Job(job) => RunPartId::Job(job.id),
            Self::Artifact(artifact) => RunPartId::Artifact(artifact.id),
        }
    }

    fn is_problem(&self) -> bool {
        matches!(self, Self::Job(job) if job.conclusion == "failure")
    }

    fn weight(&self) -> i64 {
        self.artifact().map_or(0, |artifact| artifact.size_in_bytes)
    }

    fn ages() -> &'static [&'static str] {
        &["TOOK/LEFT"]
    }

    fn indent(&self) -> u16 {
        if self.artifact().is_some() { 2 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use farrier_common::api::ArtifactJob;

    use super::*;

    #[test]
    fn artifacts_follow_their_job_and_those_of_unknown_jobs_come_last() {
        let job = |id: i64, name: &str| FoundJob { id, name: name.into(), ..FoundJob::default() };
        let artifact = |id: i64, job: i64, name: &str| FoundArtifact {
            id,
            name: name.into(),
            job: ArtifactJob { id: job, ..ArtifactJob::default() },
            ..FoundArtifact::default()
        };
        let artifacts =
            vec![artifact(9, 5, "test.xml"), artifact(8, 4, "a.zip"), artifact(7, 3, "lost"), artifact(6, 4, "b")];
        let rows = of(vec![job(4, "build"), job(5, "test")], artifacts);
        let names: Vec<String> = rows.iter().map(RunPart::name).collect();
        assert_eq!(names, ["job build", "a.zip", "b", "job test", "test.xml", "lost"]);
        let ids: std::collections::HashSet<RunPartId> = rows.iter().map(Row::id).collect();
        assert_eq!(ids.len(), rows.len());
    }
}
