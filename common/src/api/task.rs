//! Background tasks: work that a request started and that continues after the client disconnects.

use serde::{Deserialize, Serialize};

/// Response of `GET /tasks`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct BackgroundTasks {
    /// The tasks, newest first.
    pub tasks: Vec<BackgroundTask>,
}

/// A background task and its progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct BackgroundTask {
    /// Id of the task. The id of a migration is that of its repository; the id of an LFS collection is the time of its
    /// start.
    pub id: i64,
    /// Kind of task: `migration`, or `lfs_collection`, which only administrators see.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(migration|lfs_collection)$"))]
    pub kind: String,
    /// Path of the repository when the task started, `owner/name`; empty if the task belongs to no repository.
    pub repository: String,
    /// Id of the repository; 0 if the task belongs to no repository.
    pub repository_id: i64,
    /// `running`, `done`, `failed` or `cancelled`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(running|done|failed|cancelled)$"))]
    pub state: String,
    /// The current phase; empty after the end.
    pub phase: String,
    /// Duration of the current phase, milliseconds.
    pub phase_millis: i64,
    /// Number of units of this phase that are done.
    pub done: i64,
    /// Total number of units of this phase; 0 if unknown.
    pub total: i64,
    /// Unit of `done` and `total`: `objects`, `deltas` or `repositories`; empty if nothing is counted.
    pub unit: String,
    /// Number of bytes received so far.
    pub bytes: i64,
    /// The completed phases, in order.
    pub phases: Vec<TaskPhase>,
    /// Duration of the task, milliseconds.
    pub millis: i64,
    /// When it started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub began_at: String,
    /// When it ended; `null` while it runs.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub ended_at: Option<String>,
    /// Why it failed; empty otherwise.
    pub error: String,
    /// The figures of an LFS collection; `null` for other tasks.
    pub lfs: Option<LfsCollectionFigures>,
    /// The name of the node that does it; empty if only one daemon can use the store, and until a search has begun.
    pub node: String,
}

/// The figures of a search for LFS objects that no file of their repository names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct LfsCollectionFigures {
    /// Whether the task only counts and removes nothing.
    pub dry_run: bool,
    /// Number of objects that no file names. An object of several repositories counts once for each.
    pub unreferenced: i64,
    /// Their size in bytes.
    pub unreferenced_bytes: i64,
    /// Number of those that their repository lost, or in a dry run would lose now.
    pub removed: i64,
    /// Their size in bytes.
    pub removed_bytes: i64,
    /// Number of repositories whose search failed. They lose nothing.
    pub failed_repositories: i64,
}

impl BackgroundTask {
    /// Returns whether the task is running.
    pub fn is_running(&self) -> bool {
        self.state == "running"
    }
}

/// A completed phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TaskPhase {
    /// Name of the phase.
    pub name: String,
    /// Total number of units; 0 if unknown.
    pub total: i64,
    /// Unit of `total`: `objects` or `deltas`; empty if nothing was counted.
    pub unit: String,
    /// Duration, milliseconds.
    pub took_millis: i64,
}

/// A scheduled task of the daemon, which runs when it is due.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Cron {
    /// Name of the task.
    pub name: String,
    /// When it runs.
    pub schedule: String,
    /// Always the zero time.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub next: String,
    /// Always the zero time.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub prev: String,
    /// Always 0.
    pub exec_times: i64,
}
