//! Jobs that an agent begins and ends, and their runtime tokens.
//!
//! A run is begun with its first job and completes with its last. A job that has not ended by its
//! deadline is cancelled. A token works while its job is live.

pub mod across;
mod begin;
mod end;
mod forget;

use farrier_proto::store::{Conclusion, Run, RunStatus};

pub use self::{
    begin::{Begun, begin},
    end::{cancel_overdue, end, next_due_ms},
    forget::delete_of_repository,
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
