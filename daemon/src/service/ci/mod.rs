//! Runs and jobs that agents begin and end, and the jobs' runtime tokens.
//!
//! A run begins with its first job and completes with its last one. A job that has not ended by its deadline is
//! cancelled. An agent may request a lease and renew it, so that the job of a killed agent is cancelled soon. A token
//! is valid while its job is live. The steps of a job may write summaries, and the job writes statuses of the commit.

pub mod across;
mod begin;
mod cancel;
mod end;
pub mod failing;
mod forget;
mod job_statuses;
mod lease;
mod runners;
mod summaries;

use farrier_proto::store::Run;

pub use self::{
    begin::{StartedJob, begin},
    cancel::{cancel_of_deleted, cancel_overdue, cancel_run, next_due_ms},
    end::end,
    forget::delete_of_repository,
    lease::renew,
    runners::{register_job, require_runner},
    summaries::{JobSummary, SUMMARY_MAX_BYTES, next_summary_due_ms, put_summary, summary, sweep_summaries},
};
use super::Error;
use crate::store::{Read, runs};

/// Maximum number of jobs in a run.
pub const JOBS_MAX: usize = 1_000;

/// Returns run `id` of `repository`.
pub async fn run_in(read: &impl Read, repository: u64, id: u64) -> Result<Run, Error> {
    let row = runs::run(read, id).await?.filter(|run| run.repository_id == repository);
    row.ok_or(Error::NotFound { what: "the run" })
}
