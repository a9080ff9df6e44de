//! Jobs that an agent begins and ends, and their runtime tokens.
//!
//! A run begins with its first job and completes with its last. A job that has not ended by its
//! deadline is cancelled. An agent may ask for a lease and renew it: then the job of an agent that was
//! killed is cancelled soon. A token works while its job is live.

pub mod across;
mod begin;
mod cancel;
mod end;
mod forget;
mod lease;

use farrier_proto::store::{Conclusion, Run, RunStatus};

pub use self::{
    begin::{Begun, begin},
    cancel::{cancel_of_deleted, cancel_overdue, cancel_run, next_due_ms},
    end::end,
    forget::delete_of_repository,
    lease::renew,
};
use super::Error;
use crate::store::{Read, runs};

/// Most jobs of one run.
pub const JOBS_MAX: usize = 1_000;

/// The word of a conclusion; empty while there is none.
pub fn conclusion_word(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Unspecified => "",
        Conclusion::Success => "success",
        Conclusion::Failure => "failure",
        Conclusion::Cancelled => "cancelled",
        Conclusion::Skipped => "skipped",
    }
}

/// The word of a status.
pub fn status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "completed",
        RunStatus::InProgress | RunStatus::Unspecified => "in_progress",
    }
}

/// The run with number `id` in `repository`.
pub async fn run_in(read: &impl Read, repository: u64, id: u64) -> Result<Run, Error> {
    let row = runs::run(read, id).await?.filter(|run| run.repository_id == repository);
    row.ok_or(Error::NotFound { what: "the run" })
}
