//! Keys of runs and jobs.

use super::{Builder, due};
use crate::store::engine::{Key, Range};

/// `j/<run>`
pub fn run(id: u64) -> Key {
    Builder::new("j").id(id).build()
}

/// `jr/<rid>/<newest run>`
pub fn repository_run(repository: u64, run: u64) -> Key {
    Builder::new("jr").id(repository).newest(run).build()
}

/// Prefix of `jr/<rid>/`.
pub fn repository_runs(repository: u64) -> Key {
    Builder::new("jr").id(repository).build()
}

/// `jj/<run>/<job>`
pub fn job(run: u64, job: u64) -> Key {
    Builder::new("jj").id(run).id(job).build()
}

/// Prefix of `jj/<run>/`.
pub fn run_jobs(run: u64) -> Key {
    Builder::new("jj").id(run).build()
}

/// `ji/<job>` → run: finds a job by its id.
pub fn job_run(job: u64) -> Key {
    Builder::new("ji").id(job).build()
}

/// `jx/<deadline>/<job>` → run: running jobs by the time at which they are cancelled.
pub fn job_deadline(deadline_ms: i64, job: u64) -> Key {
    Builder::new("jx").time(deadline_ms).id(job).build()
}

/// The range of `jx` up to and including `until_ms`.
pub fn job_deadlines(until_ms: i64) -> Range {
    due("jx", until_ms)
}
