//! `farrier task`: lists, shows, awaits, runs and cancels background tasks.

use std::time::Duration;

use farrier_common::{
    api::{BackgroundTask, LfsCollectionFigures},
    client::Client,
};
use serde::Serialize;

use super::list::{self, Listed};
use crate::{
    args::Task,
    exit::Failure,
    output::{Output, Table, counted, fields, human_bytes, moment, time},
    progress,
};

/// How often the progress of a task is requested.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The scheduled task whose runs are listed as tasks, and the kind of these tasks.
const COLLECT_LFS_OBJECTS: (&str, &str) = ("collect_lfs_objects", "lfs_collection");

#[derive(Serialize)]
struct StartedTask {
    name: String,
    dry_run: bool,
    /// `null`: the task has no progress to show.
    task_id: Option<i64>,
}

#[derive(Serialize)]
struct Tasks {
    total_count: usize,
    tasks: Vec<BackgroundTask>,
}

pub(super) async fn run(command: Task, client: &Client, output: &Output) -> Result<(), Failure> {
    match command {
        Task::List { limit } => {
            let all = client.tasks().await.map_err(Failure::call("listing tasks"))?;
            let all = Listed::cut(all, limit.items());
            list::show(output, all, |task| task.id, table, |total_count, tasks| Tasks { total_count, tasks })
        }
        Task::Show { id } => show(&client.task(id).await.map_err(Failure::call(showing(id)))?, output),
        Task::Wait { id } => show(&follow(client, id, output).await?, output),
        Task::Run { name, dry_run } => start(name, dry_run, client, output).await,
        Task::Cancel { id } => {
            let task = client.cancel_task(id).await.map_err(Failure::call(format!("cancelling task {id}")))?;
            output.object(&task, &id.to_string(), || format!("Cancelling task {id} ({})", subject(&task)))
        }
    }
}

/// Runs a scheduled task. It continues in the background.
async fn start(name: String, dry_run: bool, client: &Client, output: &Output) -> Result<(), Failure> {
    let doing = format!("running {name}");
    client.run_scheduled_task(&name, dry_run).await.map_err(Failure::call(doing.as_str()))?;
    let mut task_id = None;
    if name == COLLECT_LFS_OBJECTS.0 {
        let tasks = client.tasks().await.map_err(Failure::call(doing.as_str()))?;
        // The newest first.
        task_id = tasks.iter().find(|task| task.kind == COLLECT_LFS_OBJECTS.1).map(|task| task.id);
    }
    let started = StartedTask { name, dry_run, task_id };
    let id = task_id.map(|id| id.to_string()).unwrap_or_default();
    output.object(&started, &id, || match task_id {
        Some(id) => format!("Started {} as task {id}; see farrier task wait {id}", started.name),
        None => format!("Started {}", started.name),
    })
}

/// Returns what a task is about: its repository, or what it does to all of them.
fn subject(task: &BackgroundTask) -> &str {
    if task.repository.is_empty() { &task.kind } else { &task.repository }
}

fn showing(id: i64) -> String {
    format!("showing task {id}")
}

fn show(task: &BackgroundTask, output: &Output) -> Result<(), Failure> {
    output.page(task, &task.id.to_string(), || page(task))
}

/// Waits for the end of a task and shows its progress. Fails unless the task succeeds.
pub(super) async fn follow(client: &Client, id: i64, output: &Output) -> Result<BackgroundTask, Failure> {
    let mut task = client.task(id).await.map_err(Failure::call(showing(id)))?;
    let bar = output.progress(subject(&task), None);
    while task.is_running() {
        bar.set_message(format!("{}: {}", subject(&task), phase_progress(&task)));
        bar.set_position(u64::try_from(task.bytes).unwrap_or_default());
        tokio::time::sleep(POLL_INTERVAL).await;
        task = client.task(id).await.map_err(Failure::call(showing(id)))?;
    }
    bar.finish_and_clear();
    let doing = if task.kind == "migration" { format!("importing {}", task.repository) } else { task.kind.clone() };
    match task.state.as_str() {
        "done" => Ok(task),
        "failed" => Err(Failure::Other(format!("{doing}: {}", task.error))),
        state => Err(Failure::Other(format!("{doing}: {state}"))),
    }
}

/// Formats the phase and its progress: `Receiving objects 56 %, 412 of 733`.
fn phase_progress(task: &BackgroundTask) -> String {
    match progress::percent(task) {
        Some(percent) => format!("{} {percent} %, {} of {}", task.phase, task.done, task.total),
        None => task.phase.clone(),
    }
}

/// Formats the figures of a search for unused LFS objects: what no file names, and what was removed.
fn lfs_lines(figures: &LfsCollectionFigures) -> [(&'static str, String); 3] {
    let amount = |count: i64, bytes: i64| format!("{}, {}", counted(count, "object"), human_bytes(bytes));
    let removed = amount(figures.removed, figures.removed_bytes);
    let removed = if figures.dry_run { format!("{removed} (dry run: they are still there)") } else { removed };
    let failed = match figures.failed_repositories {
        0 => String::new(),
        failed => counted(failed, "repository"),
    };
    let unused = amount(figures.unreferenced, figures.unreferenced_bytes);
    [("unused", unused), ("removed", removed), ("not searched", failed)]
}

/// Returns the tasks as a table. The nodes have a column if several daemons can use the store.
fn table(all: &[BackgroundTask]) -> String {
    if all.iter().all(|task| task.node.is_empty()) {
        let mut table = Table::new(["ID", "KIND", "STATE", "STARTED", "REPOSITORY", "PROGRESS"]).with_states("STATE");
        for task in all {
            table.row(cells(task));
        }
        return table.render();
    }
    let heading = ["ID", "KIND", "STATE", "NODE", "STARTED", "REPOSITORY", "PROGRESS"];
    let mut table = Table::new(heading).with_states("STATE");
    for task in all {
        let [id, kind, state, began, repository, progress] = cells(task);
        table.row([id, kind, state, task.node.clone(), began, repository, progress]);
    }
    table.render()
}

fn cells(task: &BackgroundTask) -> [String; 6] {
    let (kind, state, began) = (task.kind.clone(), task.state.clone(), time(&task.began_at));
    let progress = if task.is_running() { phase_progress(task) } else { task.error.clone() };
    [task.id.to_string(), kind, state, began, task.repository.clone(), progress]
}

fn page(task: &BackgroundTask) -> String {
    let left = progress::seconds_left(task).map(progress::eta).unwrap_or_default();
    let speed = progress::rate(task).map(|rate| format!("{}/s", human_bytes(rate))).unwrap_or_default();
    let mut lines = vec![
        ("task", format!("{} ({})", task.id, task.kind)),
        ("repository", task.repository.clone()),
        ("state", task.state.clone()),
        ("node", task.node.clone()),
        ("progress", phase_progress(task)),
        ("remaining", left),
        ("bytes", human_bytes(task.bytes)),
        ("speed", speed),
        ("started", moment(&task.began_at)),
        ("ended", task.ended_at.as_deref().map(moment).unwrap_or_default()),
        ("took", progress::took(task.millis)),
        ("error", task.error.clone()),
    ];
    if let Some(figures) = &task.lfs {
        lines.retain(|(name, _)| *name != "bytes");
        lines.extend(lfs_lines(figures));
    }
    lines.extend(
        task.phases.iter().map(|phase| ("phase", format!("{}, {}", phase.name, progress::took(phase.took_millis)))),
    );
    fields(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_a_column_of_nodes_if_a_node_is_known() {
        let task = |id, node: &str| BackgroundTask {
            id,
            kind: "migration".into(),
            state: "done".into(),
            node: node.into(),
            repository: "mia/tool".into(),
            ..BackgroundTask::default()
        };
        let shown = table(&[task(7, "forge-1"), task(8, "")]);
        assert!(shown.starts_with("ID  KIND       STATE  NODE ") && shown.contains("forge-1"), "{shown}");
        assert!(!table(&[task(8, "")]).contains("NODE"));
    }
}
