//! Workflow runs and jobs, and runs in the older shape of tasks.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Runs {
    /// All runs that match, on all pages.
    pub total_count: i64,
    /// Newest first.
    pub workflow_runs: Vec<Run>,
}

/// A workflow run. Times are RFC 3339, whole seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Run {
    /// Number of the run, over all repositories.
    pub id: i64,
    /// Absolute address of this object.
    pub url: String,
    /// Absolute address for people.
    pub html_url: String,
    /// The workflow's name.
    pub display_title: String,
    /// The workflow's file, as far as the agent named one.
    pub path: String,
    /// What began the run; always `workflow_dispatch`: an agent did.
    pub event: String,
    /// Always 1: a rerun is a new run.
    pub run_attempt: i64,
    /// Counts the runs of one repository.
    pub run_number: i64,
    /// The repository's number.
    pub repository_id: i64,
    /// The commit that the run is about; empty when the agent named none.
    pub head_sha: String,
    /// The branch, absent when the agent named none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub head_branch: String,
    /// `in_progress` or `completed`.
    #[schema(pattern = "^(in_progress|completed)$")]
    pub status: String,
    /// `success`, `failure`, `cancelled` or `skipped`, once completed.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(pattern = "^(success|failure|cancelled|skipped)$")]
    pub conclusion: String,
    /// When the run began.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// When its last job ended; the zero time before.
    #[schema(format = DateTime)]
    pub completed_at: String,
}

/// A run among those of all repositories: what [`Run`] says, its repository and its jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct FoundRun {
    /// Number of the run, over all repositories.
    pub id: i64,
    /// Absolute address of the run in its repository.
    pub url: String,
    /// The repository, `owner/name`.
    pub repository: String,
    /// The repository's number.
    pub repository_id: i64,
    /// Counts the runs of one repository.
    pub run_number: i64,
    /// The workflow's name; empty when the agent named none.
    pub display_title: String,
    /// The branch; empty when the agent named none.
    pub head_branch: String,
    /// The commit; empty when the agent named none.
    pub head_sha: String,
    /// `in_progress` or `completed`.
    #[schema(pattern = "^(in_progress|completed)$")]
    pub status: String,
    /// `success`, `failure`, `cancelled` or `skipped`, once completed.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(pattern = "^(success|failure|cancelled|skipped)$")]
    pub conclusion: String,
    /// When the run began.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// When its last job ended; the zero time before.
    #[schema(format = DateTime)]
    pub completed_at: String,
    /// Its jobs, the oldest first.
    pub jobs: Vec<FoundJob>,
}

/// A job of a [`FoundRun`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct FoundJob {
    /// Number of the job, over all runs.
    pub id: i64,
    /// Name of the job.
    pub name: String,
    /// `in_progress` or `completed`.
    #[schema(pattern = "^(in_progress|completed)$")]
    pub status: String,
    /// `success`, `failure`, `cancelled` or `skipped`, once completed.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(pattern = "^(success|failure|cancelled|skipped)$")]
    pub conclusion: String,
    /// When the job began.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// When it ended; the zero time before.
    #[schema(format = DateTime)]
    pub completed_at: String,
}

/// A page of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Jobs {
    /// All jobs that match, on all pages.
    pub total_count: i64,
    /// Oldest first.
    pub jobs: Vec<Job>,
}

/// A workflow job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Job {
    /// Number of the job, over all runs.
    pub id: i64,
    /// Absolute address of this object.
    pub url: String,
    /// Absolute address for people.
    pub html_url: String,
    /// The run.
    pub run_id: i64,
    /// Absolute address of the run.
    pub run_url: String,
    /// Name of the job.
    pub name: String,
    /// Runner labels; none are kept.
    pub labels: Vec<String>,
    /// Always 1.
    pub run_attempt: i64,
    /// The run's commit.
    pub head_sha: String,
    /// The run's branch.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub head_branch: String,
    /// `in_progress` or `completed`.
    #[schema(pattern = "^(in_progress|completed)$")]
    pub status: String,
    /// `success`, `failure`, `cancelled` or `skipped`, once completed.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(pattern = "^(success|failure|cancelled|skipped)$")]
    pub conclusion: String,
    /// Steps; agents report none.
    pub steps: Vec<Step>,
    /// When the job was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When the job began.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// When it ended; the zero time before.
    #[schema(format = DateTime)]
    pub completed_at: String,
}

/// A step of a job. None are kept; the type fixes the list's shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Step {
    /// Name of the step.
    pub name: String,
    /// Position, from 1.
    pub number: i64,
    /// `in_progress` or `completed`.
    #[schema(pattern = "^(in_progress|completed)$")]
    pub status: String,
}

/// Runs in the older shape that Forgejo's clients read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskList {
    /// All that match, on all pages.
    pub total_count: i64,
    /// Newest first.
    pub workflow_runs: Vec<Task>,
}

/// A run in the older shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Task {
    /// Number of the run.
    pub id: i64,
    /// The workflow's name.
    pub name: String,
    /// The branch.
    pub head_branch: String,
    /// The commit.
    pub head_sha: String,
    /// Counts the runs of one repository.
    pub run_number: i64,
    /// What began the run.
    pub event: String,
    /// The workflow's name.
    pub display_title: String,
    /// `running`, or the conclusion.
    pub status: String,
    /// The workflow's name.
    pub workflow_id: String,
    /// Absolute address of the run.
    pub url: String,
    /// When the run was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// When it began.
    #[schema(format = DateTime)]
    pub run_started_at: String,
}
