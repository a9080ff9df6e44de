//! Keys of workflow runs, jobs and artifacts, of artifact blocks, and of bytes to be removed.

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

/// Returns the prefix of `jr/<rid>/`.
pub fn repository_runs(repository: u64) -> Key {
    Builder::new("jr").id(repository).build()
}

/// `jj/<run>/<job>`
pub fn job(run: u64, job: u64) -> Key {
    Builder::new("jj").id(run).id(job).build()
}

/// Returns the prefix of `jj/<run>/`.
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

/// Returns the range of `jx` up to and including `until_ms`.
pub fn job_deadlines(until_ms: i64) -> Range {
    due("jx", until_ms)
}

/// `a/<aid>`
pub fn artifact(id: u64) -> Key {
    Builder::new("a").id(id).build()
}

/// `an/<run>/<job>/<name>` → artifact: the current artifact with this name.
pub fn artifact_name(run: u64, job: u64, name: &str) -> Key {
    Builder::new("an").id(run).id(job).exact(name).build()
}

/// Returns the prefix of `an/<run>/`.
pub fn run_artifacts(run: u64) -> Key {
    Builder::new("an").id(run).build()
}

/// `ar/<rid>/<newest artifact>`: finalized and expired artifacts of a repository.
pub fn repository_artifact(repository: u64, artifact: u64) -> Key {
    Builder::new("ar").id(repository).newest(artifact).build()
}

/// Returns the prefix of `ar/<rid>/`.
pub fn repository_artifacts(repository: u64) -> Key {
    Builder::new("ar").id(repository).build()
}

/// `aj/<run>/<newest artifact>`: finalized and expired artifacts of a run.
pub fn run_artifact(run: u64, artifact: u64) -> Key {
    Builder::new("aj").id(run).newest(artifact).build()
}

/// Returns the prefix of `aj/<run>/`.
pub fn run_artifact_list(run: u64) -> Key {
    Builder::new("aj").id(run).build()
}

/// `ax/<expires>/<aid>`: finalized artifacts by expiry time.
pub fn artifact_expiry(expires_ms: i64, artifact: u64) -> Key {
    Builder::new("ax").time(expires_ms).id(artifact).build()
}

/// Returns the range of `ax` up to and including `until_ms`.
pub fn artifact_expiries(until_ms: i64) -> Range {
    due("ax", until_ms)
}

/// `up/<aid>/<generation>/<block id>`
pub fn block(artifact: u64, generation: u64, block_id: &str) -> Key {
    Builder::new("up").id(artifact).id(generation).raw(block_id.as_bytes()).build()
}

/// Returns the prefix of `up/<aid>/<generation>/`.
pub fn blocks(artifact: u64, generation: u64) -> Key {
    Builder::new("up").id(artifact).id(generation).build()
}

/// `am/<aid>/<generation>/<page>`
pub fn block_page(artifact: u64, generation: u64, page: u64) -> Key {
    Builder::new("am").id(artifact).id(generation).id(page).build()
}

/// Returns the prefix of `am/<aid>/<generation>/`.
pub fn block_pages(artifact: u64, generation: u64) -> Key {
    Builder::new("am").id(artifact).id(generation).build()
}

/// `ux/<started>/<aid>`: uploads that are not finalized, by start time.
pub fn upload_started(started_ms: i64, artifact: u64) -> Key {
    Builder::new("ux").time(started_ms).id(artifact).build()
}

/// Returns the range of `ux` up to and including `until_ms`.
pub fn uploads_started(until_ms: i64) -> Range {
    due("ux", until_ms)
}

/// `az/<deleted>/<aid>`: restorable deleted artifacts by deletion time.
pub fn deleted_artifact(deleted_ms: i64, artifact: u64) -> Key {
    Builder::new("az").time(deleted_ms).id(artifact).build()
}

/// Returns the range of `az` up to and including `until_ms`.
pub fn deleted_artifacts(until_ms: i64) -> Range {
    due("az", until_ms)
}

/// `aw/<run>/<aid>`: restorable deleted artifacts of a run.
pub fn run_deleted_artifact(run: u64, artifact: u64) -> Key {
    Builder::new("aw").id(run).id(artifact).build()
}

/// Returns the prefix of `aw/<run>/`.
pub fn run_deleted_artifacts(run: u64) -> Key {
    Builder::new("aw").id(run).build()
}

/// `xb/<aid>/<generation>`: generations whose bytes must be removed.
pub fn garbage(artifact: u64, generation: u64) -> Key {
    Builder::new("xb").id(artifact).id(generation).build()
}

/// Returns the prefix of `xb/`.
pub fn all_garbage() -> Key {
    Builder::new("xb").build()
}

/// `xt/<aid>/<generation>`: finalized uploads whose unlisted blocks must be removed.
pub fn trim(artifact: u64, generation: u64) -> Key {
    Builder::new("xt").id(artifact).id(generation).build()
}

/// Returns the prefix of `xt/`.
pub fn all_trims() -> Key {
    Builder::new("xt").build()
}
