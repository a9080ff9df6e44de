//! Converts background tasks.

use farrier_common::api;

use super::{number, time};
use crate::{
    clock::Millis,
    service::migrations::{MigrationResult, MigrationTask},
};

/// Converts a migration, at the time `now`.
pub(in crate::http) fn background_task(task: &MigrationTask, now: Millis) -> api::BackgroundTask {
    let (progress, end) = (task.progress(), task.end());
    let (state, error) = match end.as_ref().map(|(outcome, _)| outcome) {
        None => ("running", ""),
        Some(MigrationResult::Done) => ("done", ""),
        Some(MigrationResult::Failed(reason)) => ("failed", reason.as_str()),
        Some(MigrationResult::Cancelled) => ("cancelled", ""),
    };
    let ended_ms = end.as_ref().map(|(_, at)| *at);
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
        state: state.into(),
        phase: progress.phase.clone(),
        phase_millis: if progress.phase.is_empty() { 0 } else { (now - progress.phase_since_ms).max(0) },
        done: number(progress.done),
        total: number(progress.total),
        unit: unit(&progress.phase, progress.total).into(),
        bytes: number(progress.bytes),
        phases: passed.collect(),
        millis: (ended_ms.unwrap_or(now) - task.started_ms).max(0),
        began_at: time(task.started_ms),
        ended_at: ended_ms.map(time),
        error: error.into(),
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
