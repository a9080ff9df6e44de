//! Events: pushes, runs and other changes that the daemon recorded.

use serde::{Deserialize, Serialize};

/// An event of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Event {
    /// Number of the event. Later events have higher numbers.
    pub id: i64,
    /// `push`, `create`, `delete`, `release`, `repository`, `status`, `workflow_run`, `workflow_job` or `member`.
    pub kind: String,
    /// The action; absent if the kind has no actions.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// Time of the event.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub at: String,
    /// Id of the repository.
    pub repository_id: i64,
    /// Path of the repository at the time of the event.
    pub repository: String,
    /// Id of the account that caused the event; 0 for a local agent.
    pub actor_id: i64,
    /// Name of the account at the time of the event; empty for a local agent or a deleted account.
    pub actor: String,
    /// Full name of the changed branch or tag.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub r#ref: String,
    /// Previous object id of the ref.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// New object id of the ref.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// Id of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<i64>,
    /// Id of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<i64>,
    /// The result of the run or job.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub conclusion: String,
}

/// A page of events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Events {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// Value of `after` for the next page. A page may be empty although there are more events, because events
    /// that the caller may not see are left out.
    pub next: i64,
    /// Whether there were more events at the time of the response.
    pub more: bool,
    /// Whether events after `after` have expired.
    pub gap: bool,
}
