//! What happened on the daemon.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something that happened to a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Event {
    /// Number of the event: later ones have higher numbers.
    pub id: i64,
    /// `push`, `create`, `delete`, `repository`, `workflow_run`, `workflow_job` or `member`.
    pub kind: String,
    /// What happened to the thing; absent where the kind says it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// When.
    #[schema(format = DateTime)]
    pub at: String,
    /// The repository's number.
    pub repository_id: i64,
    /// The repository as it was called then.
    pub repository: String,
    /// Number of the account that did it; 0: a local agent.
    pub actor_id: i64,
    /// The account as it was called then; empty: a local agent, or an account that is gone.
    pub actor: String,
    /// The branch or tag that moved, by its full name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub r#ref: String,
    /// Where it was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// Where it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<i64>,
    /// The job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<i64>,
    /// How it ended.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub conclusion: String,
}

/// A page of events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Events {
    /// Oldest first.
    pub events: Vec<Event>,
    /// What to send as `after` to go on. There may be more even where a page is empty: what the
    /// caller may not see takes its place in the order.
    pub next: i64,
    /// Whether there was more when this was answered.
    pub more: bool,
    /// Events behind `after` have been forgotten because of their age.
    pub gap: bool,
}
