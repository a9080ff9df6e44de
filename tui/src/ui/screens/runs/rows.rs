//! Runs as rows.

use std::borrow::Cow;

use farrier_common::api::FoundJob;

use crate::ui::{
    list::{CellText, Column, FilterColumn, Haystack, Row},
    runs::{ListedRun, Outcome},
    screens::artifacts::rows::outcome,
    times::Clock,
    view::Role,
    words,
};

/// Digits of an abbreviated commit.
const COMMIT: usize = 7;

fn state(run: &ListedRun) -> CellText {
    outcome(run.outcome())
}

/// Formats how long something took, or how long it has been running. `None` if it has no beginning.
fn duration(began: i64, ended: i64, clock: &Clock) -> Option<String> {
    let end = if ended > 0 { ended } else { clock.now.as_second() };
    (began > 0).then(|| if end > began { words::span(end - began) } else { "0s".to_owned() })
}

/// Formats how long a job took, or how long it has been running; empty if it has not begun.
pub(super) fn took(job: &FoundJob, clock: &Clock) -> String {
    duration(words::seconds(&job.started_at), words::seconds(&job.completed_at), clock).unwrap_or_default()
}

fn short_commit(run: &ListedRun) -> String {
    run.sha().chars().take(COMMIT).collect()
}

/// Formats a time in full; empty for no time.
fn stamp(then: i64, clock: &Clock) -> String {
    if then > 0 { clock.stamp_of(then) } else { String::new() }
}

/// Returns the fields of a run, the important ones first. Fields without a value are left out.
pub(super) fn facts(run: &ListedRun, clock: &Clock) -> Vec<(Role, String)> {
    let took = duration(run.began(), run.ended(), clock).unwrap_or_default();
    let fields = [
        ("state", format!("{}  {took}", state(run).text).trim_end().to_owned()),
        ("workflow", run.title().to_owned()),
        ("branch", format!("{}  {}", run.branch(), run.sha()).trim().to_owned()),
        ("started", stamp(run.began(), clock)),
        ("completed", stamp(run.ended(), clock)),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let title = (Role::Title, format!("run {}  {}", run.id, run.repository()));
    std::iter::once(title).chain(fields.map(|(name, value)| (Role::Text, format!("{name:<10} {value}")))).collect()
}

/// Returns all fields of a job, one per line.
pub(super) fn job_facts(job: &FoundJob, clock: &Clock) -> String {
    let fields = [
        ("ID", job.id.to_string()),
        ("name", job.name.clone()),
        ("state", outcome(Outcome::of(&job.status, &job.conclusion)).text),
        ("started", stamp(words::seconds(&job.started_at), clock)),
        ("completed", stamp(words::seconds(&job.completed_at), clock)),
        ("took", took(job, clock)),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    fields.map(|(name, value)| format!("{name:<10} {value}")).collect::<Vec<_>>().join("\n")
}

static COLUMNS: [Column<ListedRun>; 9] = [
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
        cell: |run, _| CellText::plain(run.repository()),
        order: None,
    },
    Column {
        title: "WORKFLOW",
        width: 10,
        right: false,
        rank: 1,
        cell: |run, _| CellText::plain(run.title()),
        order: None,
    },
    Column {
        title: "BRANCH",
        width: 10,
        right: false,
        rank: 2,
        cell: |run, _| CellText::plain(run.branch()),
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
        cell: |run, _| CellText::plain(run.job_names().len().to_string()),
        order: None,
    },
    Column {
        title: "TOOK",
        width: 5,
        right: true,
        rank: 3,
        cell: |run, clock| CellText::plain(duration(run.began(), run.ended(), clock).unwrap_or_default()),
        order: None,
    },
    Column {
        title: "AGE",
        width: 5,
        right: true,
        rank: 1,
        cell: |run, clock| CellText::plain(clock.age_from(run.began())),
        order: None,
    },
];

impl Haystack for ListedRun {
    fn text(&self) -> Cow<'_, str> {
        let (repository, title, branch, sha) = (self.repository(), self.title(), self.branch(), self.sha());
        format!("run {} {repository} {title} {branch} {sha}", self.id).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "repo" => Some(self.repository().to_owned()),
            "workflow" => Some(self.title().to_owned()),
            "branch" => Some(self.branch().to_owned()),
            "commit" => Some(self.sha().to_owned()),
            "state" => Some(state(self).text),
            "job" => Some(self.job_names().collect::<Vec<_>>().join(" ")),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "age" => words::seconds_from(self.began(), crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for ListedRun {
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
        self.has_failed()
    }

    fn flexible() -> usize {
        2
    }

    fn ages() -> &'static [&'static str] {
        &["AGE"]
    }
}
