//! Runs as rows.

use std::borrow::Cow;

use farrier_common::api::{FoundJob, FoundRun};

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    runs::Outcome,
    screens::artifacts::rows::outcome,
    times::Clock,
    view::Role,
    words,
};

/// Digits of an abbreviated commit.
const COMMIT: usize = 7;

pub(super) fn is_running(run: &FoundRun) -> bool {
    Outcome::of(&run.status, &run.conclusion) == Outcome::Running
}

fn state(run: &FoundRun) -> CellText {
    outcome(Outcome::of(&run.status, &run.conclusion))
}

/// Formats how long something took, or how long it has been running. `None` if it has no beginning.
fn duration(started_at: &str, completed_at: &str, clock: &Clock) -> Option<String> {
    let (began, ended) = (words::seconds(started_at), words::seconds(completed_at));
    let end = if ended > 0 { ended } else { clock.now.as_second() };
    (began > 0).then(|| if end > began { words::span(end - began) } else { "0s".to_owned() })
}

/// Formats how long a job took, or how long it has been running; empty if it has not begun.
pub(super) fn took(job: &FoundJob, clock: &Clock) -> String {
    duration(&job.started_at, &job.completed_at, clock).unwrap_or_default()
}

fn short_commit(run: &FoundRun) -> String {
    run.head_sha.chars().take(COMMIT).collect()
}

/// Formats a time in full; empty for no time.
fn stamp(text: &str, clock: &Clock) -> String {
    if words::seconds(text) > 0 { clock.stamp(text) } else { String::new() }
}

/// Returns the fields of a run, the important ones first. Fields without a value are left out.
pub(super) fn facts(run: &FoundRun, clock: &Clock) -> Vec<(Role, String)> {
    let took = duration(&run.started_at, &run.completed_at, clock).unwrap_or_default();
    let fields = [
        ("state", format!("{}  {took}", state(run).text).trim_end().to_owned()),
        ("workflow", run.display_title.clone()),
        ("branch", format!("{}  {}", run.head_branch, run.head_sha).trim().to_owned()),
        ("started", stamp(&run.started_at, clock)),
        ("completed", stamp(&run.completed_at, clock)),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let title = (Role::Title, format!("run {}  {}", run.id, run.repository));
    std::iter::once(title).chain(fields.map(|(name, value)| (Role::Text, format!("{name:<10} {value}")))).collect()
}

/// Returns all fields of a job, one per line.
pub(super) fn job_facts(job: &FoundJob, clock: &Clock) -> String {
    let fields = [
        ("ID", job.id.to_string()),
        ("name", job.name.clone()),
        ("state", outcome(Outcome::of(&job.status, &job.conclusion)).text),
        ("started", stamp(&job.started_at, clock)),
        ("completed", stamp(&job.completed_at, clock)),
        ("took", took(job, clock)),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    fields.map(|(name, value)| format!("{name:<10} {value}")).collect::<Vec<_>>().join("\n")
}

static COLUMNS: [Column<FoundRun>; 9] = [
    Column {
        title: "RUN",
        width: 6,
        right: true,
        rank: 0,
        cell: |run, _| CellText::plain(run.id.to_string()),
        order: None,
    },
    Column { title: "STATE", width: 9, right: false, rank: 0, cell: |run, _| state(run), order: None },
    Column {
        title: "REPOSITORY",
        width: 14,
        right: false,
        rank: 0,
        cell: |run, _| CellText::plain(&*run.repository),
        order: None,
    },
    Column {
        title: "WORKFLOW",
        width: 10,
        right: false,
        rank: 1,
        cell: |run, _| CellText::plain(&*run.display_title),
        order: None,
    },
    Column {
        title: "BRANCH",
        width: 10,
        right: false,
        rank: 2,
        cell: |run, _| CellText::plain(&*run.head_branch),
        order: None,
    },
    Column {
        title: "COMMIT",
        width: 7,
        right: false,
        rank: 4,
        cell: |run, _| CellText::of(Role::Muted, short_commit(run)),
        order: None,
    },
    Column {
        title: "JOBS",
        width: 4,
        right: true,
        rank: 3,
        cell: |run, _| CellText::plain(run.jobs.len().to_string()),
        order: None,
    },
    Column {
        title: "TOOK",
        width: 5,
        right: true,
        rank: 3,
        cell: |run, clock| CellText::plain(duration(&run.started_at, &run.completed_at, clock).unwrap_or_default()),
        order: None,
    },
    Column {
        title: "AGE",
        width: 5,
        right: true,
        rank: 1,
        cell: |run, clock| CellText::plain(clock.age(&run.started_at)),
        order: None,
    },
];

impl Haystack for FoundRun {
    fn text(&self) -> Cow<'_, str> {
        let Self { repository, display_title, head_branch, head_sha, .. } = self;
        format!("run {} {repository} {display_title} {head_branch} {head_sha}", self.id).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "repo" => Some(self.repository.clone()),
            "workflow" => Some(self.display_title.clone()),
            "branch" => Some(self.head_branch.clone()),
            "commit" => Some(self.head_sha.clone()),
            "state" => Some(state(self).text),
            "job" => Some(self.jobs.iter().map(|job| &*job.name).collect::<Vec<_>>().join(" ")),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "age" => words::seconds_since(&self.started_at, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for FoundRun {
    type Id = i64;

    const LIST: &'static str = "workflow_runs";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("repo"),
        FilterColumn::text("workflow"),
        FilterColumn::text("branch"),
        FilterColumn::text("commit"),
        FilterColumn::text("state"),
        FilterColumn::text("job"),
        FilterColumn::count("id"),
        FilterColumn::age("age"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn is_problem(&self) -> bool {
        self.conclusion == "failure"
    }

    fn flexible() -> usize {
        2
    }

    fn ages() -> &'static [&'static str] {
        &["AGE"]
    }
}
