//! `farrier task`: lists, shows, awaits and cancels background tasks.

use std::time::Duration;

use farrier_common::{api::BackgroundTask, client::Client};
use serde::Serialize;

use super::list::{self, Listed};
use crate::{
    args::Task,
    exit::Failure,
    output::{Output, Table, fields, human_bytes, moment, time},
    progress,
};

/// How often the progress of a task is requested.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

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
        Task::Cancel { id } => {
            let task = client.cancel_task(id).await.map_err(Failure::call(format!("cancelling task {id}")))?;
            output.object(&task, &id.to_string(), || format!("Cancelling task {id} ({})", task.repository))
        }
    }
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
    let bar = output.progress(&task.repository, None);
    while task.is_running() {
        bar.set_message(format!("{}: {}", task.repository, phase_progress(&task)));
        bar.set_position(u64::try_from(task.bytes).unwrap_or_default());
        tokio::time::sleep(POLL_INTERVAL).await;
        task = client.task(id).await.map_err(Failure::call(showing(id)))?;
    }
    bar.finish_and_clear();
    match task.state.as_str() {
        "done" => Ok(task),
        "failed" => Err(Failure::Other(format!("importing {}: {}", task.repository, task.error))),
        state => Err(Failure::Other(format!("importing {}: {state}", task.repository))),
    }
}

/// Formats the phase and its progress: `Receiving objects 56 %, 412 of 733`.
fn phase_progress(task: &BackgroundTask) -> String {
    match progress::percent(task) {
        Some(percent) => format!("{} {percent} %, {} of {}", task.phase, task.done, task.total),
        None => task.phase.clone(),
    }
}

fn table(all: &[BackgroundTask]) -> String {
    let mut table = Table::new(["ID", "KIND", "STATE", "STARTED", "REPOSITORY", "PROGRESS"]).with_states("STATE");
    for task in all {
        let (kind, state, began) = (task.kind.clone(), task.state.clone(), time(&task.began_at));
        let now = if task.is_running() { phase_progress(task) } else { task.error.clone() };
        table.row([task.id.to_string(), kind, state, began, task.repository.clone(), now]);
    }
    table.render()
}

fn page(task: &BackgroundTask) -> String {
    let left = progress::seconds_left(task).map(progress::eta).unwrap_or_default();
    let speed = progress::rate(task).map(|rate| format!("{}/s", human_bytes(rate))).unwrap_or_default();
    let mut lines = vec![
        ("task", format!("{} ({})", task.id, task.kind)),
        ("repository", task.repository.clone()),
        ("state", task.state.clone()),
        ("progress", phase_progress(task)),
        ("remaining", left),
        ("bytes", human_bytes(task.bytes)),
        ("speed", speed),
        ("started", moment(&task.began_at)),
        ("ended", task.ended_at.as_deref().map(moment).unwrap_or_default()),
        ("took", progress::took(task.millis)),
        ("error", task.error.clone()),
    ];
    lines.extend(
        task.phases.iter().map(|phase| ("phase", format!("{}, {}", phase.name, progress::took(phase.took_millis)))),
    );
    fields(&lines)
}
