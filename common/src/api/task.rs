//! Background work: what the daemon does because somebody asked for it, and goes on with when they
//! leave.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What `GET /tasks` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct BackgroundTasks {
    /// The youngest first.
    pub tasks: Vec<BackgroundTask>,
}

/// A task and how far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct BackgroundTask {
    /// That of a migration is its repository's.
    pub id: i64,
    /// What it does: `migration`.
    #[schema(pattern = "^(migration)$")]
    pub kind: String,
    /// What it is about: `owner/name`, as it was when it began.
    pub repository: String,
    /// The repository's number.
    pub repository_id: i64,
    /// `running`, `done`, `failed` or `cancelled`.
    #[schema(pattern = "^(running|done|failed|cancelled)$")]
    pub state: String,
    /// What is being done now; empty once it has ended.
    pub phase: String,
    /// For so long.
    pub phase_millis: i64,
    /// Of this phase so much is done,
    pub done: i64,
    /// of so much; 0: nobody knows.
    pub total: i64,
    /// What `done` and `total` count: `objects` or `deltas`; empty: nothing is counted in this phase.
    pub unit: String,
    /// Bytes that have come so far.
    pub bytes: i64,
    /// What was done before, in order.
    pub phases: Vec<TaskPhase>,
    /// How long it takes already, or took.
    pub millis: i64,
    /// When it began.
    #[schema(format = DateTime)]
    pub began_at: String,
    /// When it ended; `null` while it runs.
    #[schema(format = DateTime)]
    pub ended_at: Option<String>,
    /// Why it failed; empty otherwise.
    pub error: String,
}

impl BackgroundTask {
    /// Whether it goes on.
    pub fn is_running(&self) -> bool {
        self.state == "running"
    }
}

/// A phase that is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TaskPhase {
    /// What was done.
    pub name: String,
    /// How much of it there was; 0: nobody knows.
    pub total: i64,
    /// What `total` counts: `objects` or `deltas`; empty: nothing was counted.
    pub unit: String,
    /// How long it took.
    pub took_millis: i64,
}
