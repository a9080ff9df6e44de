//! Converts background tasks.

use farrier_common::api;

use super::{number, time};
use crate::{
    clock::Millis,
    service::{
        lfs::CollectionTask,
        migrations::MigrationTask,
        tasks::{TaskResult, TrackedTask},
    },
};

/// Converts a task, at the time `now`.
pub(in crate::http) fn background_task(task: &TrackedTask, now: Millis) -> api::BackgroundTask {
    match task {
        TrackedTask::Migration(task) => migration(task, now),
        TrackedTask::LfsCollection(task) => lfs_collection(task, now),
    }
}

/// Converts what all tasks have: their state, and when they began and ended.
fn of_any(started_ms: Millis, end: Option<(TaskResult, Millis)>, now: Millis) -> api::BackgroundTask {
    let ended_ms = end.as_ref().map(|(_, at)| *at);
    let (state, error) = match end.map(|(result, _)| result) {
        None => ("running", String::new()),
        Some(TaskResult::Done) => ("done", String::new()),
        Some(TaskResult::Failed(reason)) => ("failed", reason),
        Some(TaskResult::Cancelled) => ("cancelled", String::new()),
    };
    api::BackgroundTask {
        state: state.into(),
        millis: (ended_ms.unwrap_or(now) - started_ms).max(0),
        began_at: time(started_ms),
        ended_at: ended_ms.map(time),
        error,
        ..api::BackgroundTask::default()
    }
}

fn migration(task: &MigrationTask, now: Millis) -> api::BackgroundTask {
    let progress = task.progress();
    let passed = progress.finished.iter().map(|phase| api::TaskPhase {
        name: phase.phase.clone(),
        total: number(phase.total),
        unit: unit(&phase.phase, phase.total).into(),
        took_millis: phase.took_ms,
    });
    api::BackgroundTask {
        id: number(task.row.id),
        kind: "migration".into(),
        repository: task.path.clone(),
        repository_id: number(task.row.id),
        phase: progress.phase.clone(),
        phase_millis: if progress.phase.is_empty() { 0 } else { (now - progress.phase_since_ms).max(0) },
        done: number(progress.done),
        total: number(progress.total),
        unit: unit(&progress.phase, progress.total).into(),
        bytes: number(progress.bytes),
        phases: passed.collect(),
        node: task.node.clone(),
        ..of_any(task.started_ms, task.end(), now)
    }
}

fn lfs_collection(task: &CollectionTask, now: Millis) -> api::BackgroundTask {
    let (progress, shown) = (task.progress(), of_any(task.started_ms, task.end(), now));
    let is_running = shown.is_running();
    api::BackgroundTask {
        id: number(task.id),
        kind: "lfs_collection".into(),
        phase: if is_running { "Searching repositories".into() } else { String::new() },
        phase_millis: if is_running { shown.millis } else { 0 },
        done: number(progress.repositories),
        unit: "repositories".into(),
        node: task.node.clone(),
        lfs: Some(api::LfsCollectionFigures {
            dry_run: task.dry_run,
            unreferenced: number(progress.unreferenced),
            unreferenced_bytes: number(progress.unreferenced_bytes),
            removed: number(progress.removed),
            removed_bytes: number(progress.removed_bytes),
            failed_repositories: number(progress.failed),
        }),
        ..shown
    }
}

/// Returns the unit of a phase's counters, for git's phase names. The total of bytes is reported separately.
fn unit(phase: &str, total: u64) -> &'static str {
    match phase {
        _ if total == 0 => "",
        "Resolving deltas" => "deltas",
        _ if phase.ends_with("objects") => "objects",
        _ => "",
    }
}
