//! Background tasks as rows.

use std::borrow::Cow;

use farrier_common::api::BackgroundTask;

use crate::{
    output::{counted, human_bytes},
    progress,
    ui::{
        list::{CellText, Column, FilterColumn, Haystack, Row},
        screens::repositories::task_lines,
        times::Clock,
        view::{LinePart, Role, wrapped},
        words,
    },
};

/// The kind of the task that searches for unused LFS objects.
pub(super) const LFS_COLLECTION: &str = "lfs_collection";

/// Returns the kind as it is shown: the daemon calls an import a migration.
fn kind(task: &BackgroundTask) -> &str {
    if task.kind == "migration" { "import" } else { &task.kind }
}

fn state(task: &BackgroundTask) -> CellText {
    let role = match task.state.as_str() {
        "running" => Role::Warn,
        "done" => Role::Text,
        "failed" => Role::Error,
        _ => Role::Muted,
    };
    CellText::of(role, &*task.state)
}

/// Formats the phase of a running task and its progress, or why the task failed.
fn progress_text(task: &BackgroundTask) -> String {
    if !task.is_running() {
        return task.error.lines().next().unwrap_or_default().to_owned();
    }
    match progress::percent(task) {
        Some(percent) => format!("{percent:>3} %  {}", task.phase),
        None => task.phase.clone(),
    }
}

/// Returns the remaining time of a running task, if it is known, or how long the task took.
fn time(task: &BackgroundTask) -> String {
    match progress::seconds_left(task) {
        Some(left) if task.is_running() => progress::eta(left),
        _ => progress::took(task.millis),
    }
}

/// Returns all fields of a task, and its phases with the progress of the current one.
pub(super) fn lines(task: &BackgroundTask, clock: &Clock, width: u16) -> Vec<Vec<LinePart>> {
    let text = |role: Role, text: String| vec![LinePart::Text(role, text)];
    let of = if task.repository.is_empty() { String::new() } else { format!(" of {}", task.repository) };
    let mut lines = vec![text(Role::Title, format!("{}{of}", kind(task)))];
    let fields = [
        ("task", task.id.to_string()),
        ("state", task.state.clone()),
        ("node", task.node.clone()),
        ("started", clock.stamp(&task.began_at)),
        ("ended", task.ended_at.as_deref().map(|at| clock.stamp(at)).unwrap_or_default()),
        ("took", progress::took(task.millis)),
        ("received", if task.bytes > 0 { human_bytes(task.bytes) } else { String::new() }),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    lines.extend(fields.map(|(name, value)| text(Role::Text, format!("{name:<9} {value}"))));
    if let Some(figures) = &task.lfs {
        let amount = |count: i64, bytes: i64| format!("{}, {}", counted(count, "object"), human_bytes(bytes));
        let unused = amount(figures.unreferenced, figures.unreferenced_bytes);
        let removed = amount(figures.removed, figures.removed_bytes);
        lines.push(text(Role::Text, format!("{:<9} {unused}", "unused")));
        // In a dry run, these are the objects that a search would remove now.
        lines.push(text(Role::Text, format!("{:<9} {removed}", if figures.dry_run { "due" } else { "removed" })));
        if figures.dry_run {
            lines.push(text(Role::Muted, "This is a dry run: nothing is removed.".to_owned()));
        }
    }
    lines.extend(wrapped(&task.error, width).into_iter().map(|line| text(Role::Error, line)));
    if task.is_running() {
        lines.extend(task_lines::phases(task, width));
    } else {
        let phase = |name: &str, took| text(Role::Muted, format!("  {name}  {}", progress::took(took)));
        lines.extend(task.phases.iter().map(|one| phase(&one.name, one.took_millis)));
    }
    lines
}

static COLUMNS: [Column<BackgroundTask>; 8] = [
    Column {
        title: "STATE",
        width: 9,
        right: false,
        rank: 0,
        cell: |task, _| state(task),
        order: Some(|a, b| a.state.cmp(&b.state)),
    },
    Column {
        title: "KIND",
        width: 9,
        right: false,
        rank: 3,
        cell: |task, _| CellText::plain(kind(task)),
        order: Some(|a, b| kind(a).cmp(kind(b))),
    },
    Column {
        title: "REPOSITORY",
        width: 14,
        right: false,
        rank: 0,
        cell: |task, _| CellText::plain(&*task.repository),
        order: Some(|a, b| a.repository.cmp(&b.repository)),
    },
    Column {
        title: "PROGRESS",
        width: 24,
        right: false,
        rank: 1,
        cell: |task, _| CellText::plain(progress_text(task)),
        order: None,
    },
    Column {
        title: "TIME",
        width: 9,
        right: true,
        rank: 2,
        cell: |task, _| CellText::plain(time(task)),
        order: Some(|a, b| b.millis.cmp(&a.millis)),
    },
    Column {
        title: "RECEIVED",
        width: 9,
        right: true,
        rank: 4,
        cell: |task, _| CellText::plain(human_bytes(task.bytes)),
        order: Some(|a, b| b.bytes.cmp(&a.bytes)),
    },
    // Empty if only one daemon can use the store, so it is shown only where there is room.
    Column {
        title: "NODE",
        width: 12,
        right: false,
        rank: 10,
        cell: |task, _| CellText::plain(&*task.node),
        order: Some(|a, b| a.node.cmp(&b.node)),
    },
    Column {
        title: "AGE",
        width: 5,
        right: true,
        rank: 1,
        cell: |task, clock| CellText::plain(clock.age(&task.began_at)),
        order: Some(|a, b| words::seconds(&b.began_at).cmp(&words::seconds(&a.began_at))),
    },
];

impl Haystack for BackgroundTask {
    fn text(&self) -> Cow<'_, str> {
        let Self { repository, state, phase, error, node, .. } = self;
        format!("{} {repository} {state} {phase} {error} {node}", kind(self)).into()
    }

    fn column(&self, name: &str) -> Option<String> {
        match name {
            "state" => Some(self.state.clone()),
            "kind" => Some(kind(self).to_owned()),
            "repo" => Some(self.repository.clone()),
            "node" => Some(self.node.clone()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match name {
            "id" => Some(self.id),
            "received" => Some(self.bytes),
            "age" => words::seconds_since(&self.began_at, crate::clock::now()),
            _ => None,
        }
    }
}

impl Row for BackgroundTask {
    type Id = i64;

    const LIST: &'static str = "tasks";
    const COLUMNS: &'static [Column<Self>] = &COLUMNS;
    const FILTERS: &'static [FilterColumn] = &[
        FilterColumn::text("state"),
        FilterColumn::text("kind"),
        FilterColumn::text("repo"),
        FilterColumn::text("node"),
        FilterColumn::count("id"),
        FilterColumn::size("received"),
        FilterColumn::age("age"),
    ];

    fn id(&self) -> i64 {
        self.id
    }

    fn is_problem(&self) -> bool {
        self.state == "failed"
    }

    fn flexible() -> usize {
        2
    }

    fn ages() -> &'static [&'static str] {
        &["AGE"]
    }
}
