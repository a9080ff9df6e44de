//! Workflow runs and jobs, and runs in the older task format.

use serde::{Deserialize, Serialize};

use super::RecentFailures;

/// A page of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Runs {
    /// Number of matching runs on all pages.
    pub total_count: i64,
    /// Newest first.
    pub workflow_runs: Vec<Run>,
}

/// A workflow run. Times are RFC 3339, whole seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Run {
    /// Id of the run, unique among all repositories.
    pub id: i64,
    /// Absolute URL of this object.
    pub url: String,
    /// Absolute URL of the web page.
    pub html_url: String,
    /// Name of the workflow.
    pub display_title: String,
    /// File of the workflow; empty if the agent did not set one.
    pub path: String,
    /// The trigger of the run. Always `workflow_dispatch`.
    pub event: String,
    /// Always 1. A rerun is a new run.
    pub run_attempt: i64,
    /// Number of the run within its repository.
    pub run_number: i64,
    /// Id of the repository.
    pub repository_id: i64,
    /// Commit of the run; empty if the agent did not set one.
    pub head_sha: String,
    /// Branch of the run; absent if the agent did not set one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub head_branch: String,
    /// `in_progress` or `completed`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(in_progress|completed)$"))]
    pub status: String,
    /// `success`, `failure`, `cancelled` or `skipped`; absent while it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(success|failure|cancelled|skipped)$"))]
    pub conclusion: String,
    /// When the run started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub started_at: String,
    /// When the last job ended; the zero time while it runs.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub completed_at: String,
}

/// A run in a list of several repositories: the fields of [`Run`] with its repository and its jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct FoundRun {
    /// Id of the run, unique among all repositories.
    pub id: i64,
    /// Absolute URL of the run in its repository.
    pub url: String,
    /// The repository, `owner/name`.
    pub repository: String,
    /// Id of the repository.
    pub repository_id: i64,
    /// Number of the run within its repository.
    pub run_number: i64,
    /// Name of the workflow; empty if the agent did not set one.
    pub display_title: String,
    /// Branch of the run; empty if the agent did not set one.
    pub head_branch: String,
    /// Commit of the run; empty if the agent did not set one.
    pub head_sha: String,
    /// `in_progress` or `completed`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(in_progress|completed)$"))]
    pub status: String,
    /// `success`, `failure`, `cancelled` or `skipped`; absent while it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(success|failure|cancelled|skipped)$"))]
    pub conclusion: String,
    /// When the run started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub started_at: String,
    /// When the last job ended; the zero time while it runs.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub completed_at: String,
    /// The jobs, oldest first.
    pub jobs: Vec<FoundJob>,
}

/// `GET /api/farrier/v1/runs/failing`: the workflows whose last runs failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct FailingWorkflows {
    /// The workflows, the last failure first; at most 100.
    pub workflows: Vec<FailingWorkflow>,
    /// Number of runs that were read.
    pub examined: i64,
    /// Whether there are more workflows, or more runs of the last seven days that were not read.
    pub truncated: bool,
}

/// A workflow of a branch whose last completed runs failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct FailingWorkflow {
    /// The repository, `owner/name`.
    pub repository: String,
    /// ID of the repository.
    pub repository_id: i64,
    /// Branch of the runs; empty if the agent did not set one.
    pub head_branch: String,
    /// Name of the workflow; empty if the agent did not set one.
    pub workflow: String,
    /// ID of the last run.
    pub run_id: i64,
    /// Number of successive runs that failed, up to the last one.
    pub failures: i64,
    /// When the first of these runs completed.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub failing_since: String,
    /// Runs that failed recently; absent if there were none for two hours, or if not all runs of the last two hours
    /// were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent_failures: Option<RecentFailures>,
}

/// A job of a [`FoundRun`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct FoundJob {
    /// Id of the job, unique among all runs.
    pub id: i64,
    /// Name of the job.
    pub name: String,
    /// `in_progress` or `completed`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(in_progress|completed)$"))]
    pub status: String,
    /// `success`, `failure`, `cancelled` or `skipped`; absent while it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(success|failure|cancelled|skipped)$"))]
    pub conclusion: String,
    /// When the job started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub started_at: String,
    /// When the job ended; the zero time while it runs.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub completed_at: String,
}

/// A page of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Jobs {
    /// Number of matching jobs on all pages.
    pub total_count: i64,
    /// Oldest first.
    pub jobs: Vec<Job>,
}

/// A workflow job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Job {
    /// Id of the job, unique among all runs.
    pub id: i64,
    /// Absolute URL of this object.
    pub url: String,
    /// Absolute URL of the web page.
    pub html_url: String,
    /// Id of the run.
    pub run_id: i64,
    /// Absolute URL of the run.
    pub run_url: String,
    /// Name of the job.
    pub name: String,
    /// Runner labels. Always empty.
    pub labels: Vec<String>,
    /// Always 1.
    pub run_attempt: i64,
    /// Commit of the run.
    pub head_sha: String,
    /// Branch of the run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub head_branch: String,
    /// `in_progress` or `completed`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(in_progress|completed)$"))]
    pub status: String,
    /// `success`, `failure`, `cancelled` or `skipped`; absent while it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "openapi", schema(pattern = "^(success|failure|cancelled|skipped)$"))]
    pub conclusion: String,
    /// Steps. Always empty.
    pub steps: Vec<Step>,
    /// When the job was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When the job started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub started_at: String,
    /// When the job ended; the zero time while it runs.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub completed_at: String,
}

/// A step of a job. Steps are not stored; the type defines the format of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Step {
    /// Name of the step.
    pub name: String,
    /// Number of the step, from 1.
    pub number: i64,
    /// `in_progress` or `completed`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^(in_progress|completed)$"))]
    pub status: String,
}

/// Runs in the older format for Forgejo's clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskList {
    /// Number of matching runs on all pages.
    pub total_count: i64,
    /// Newest first.
    pub workflow_runs: Vec<Task>,
}

/// A run in the older format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Task {
    /// Id of the run.
    pub id: i64,
    /// Name of the workflow.
    pub name: String,
    /// The branch.
    pub head_branch: String,
    /// The commit.
    pub head_sha: String,
    /// Number of the run within its repository.
    pub run_number: i64,
    /// The trigger of the run.
    pub event: String,
    /// Name of the workflow.
    pub display_title: String,
    /// `running` or the conclusion.
    pub status: String,
    /// Name of the workflow.
    pub workflow_id: String,
    /// Absolute URL of the run.
    pub url: String,
    /// When the run was created.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub created_at: String,
    /// When it last changed.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub updated_at: String,
    /// When the run started.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub run_started_at: String,
}
